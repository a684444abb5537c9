"""The allocations of a contract, and their bundle."""
