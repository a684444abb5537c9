"""The sequence of launches: from the look at the target to the end record."""
