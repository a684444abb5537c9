"""The work inside the allocation: runner, launches, records, the run directory and its safe removal."""
