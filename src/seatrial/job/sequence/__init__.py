"""The sequence of launches: from the survey of the target to the end record."""
