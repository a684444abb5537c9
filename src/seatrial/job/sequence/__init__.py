"""The sequence of launches: from what the node sees of the target to the end record."""
