"""The engine that is part of Seatrial, with a file a kind of workload for its tasks on the nodes."""
