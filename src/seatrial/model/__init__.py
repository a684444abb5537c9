"""Plain values that travel between the login side and the nodes, with their JSON form."""
