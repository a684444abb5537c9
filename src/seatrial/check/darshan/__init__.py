"""Darshan: its library in a job, its logs, and what of a log is replayed."""
