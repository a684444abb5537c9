"""The run directory: whose it is, how it is made and removed, one trial at a time, what a dead job left."""
