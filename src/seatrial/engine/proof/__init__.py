"""The proof of contents as an engine, and the program of its tasks."""
