"""Comparisons of sessions: before and after, or several configurations to choose from."""
