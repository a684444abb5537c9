"""DLIO as an engine, and the program that starts each of its ranks."""
