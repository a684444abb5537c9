"""A launch: processes that begin together on their nodes and end in time."""
