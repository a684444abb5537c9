"""The protocol of an acceptance, and the files of its bundle for people and programs."""
