"""Statistics, completeness and verdicts: pure functions over records."""
