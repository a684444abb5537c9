"""The engine that is part of Seatrial: what it can do, and a file a kind of workload for its tasks on the nodes."""
