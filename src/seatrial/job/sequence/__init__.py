"""The sequence of launches of a case: from the survey of its target on the node to the end record."""
