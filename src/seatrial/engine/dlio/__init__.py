"""DLIO as an engine, and the program that each rank is before it is DLIO."""
