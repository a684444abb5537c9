"""Sessions beside each other: before and after, or configurations of which one is chosen."""
