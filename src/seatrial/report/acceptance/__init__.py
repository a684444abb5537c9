"""The protocol of an acceptance, and what a bundle has for people and programs."""
