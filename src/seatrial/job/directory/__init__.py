"""The run directory: its owner, its making and removal, the lock of a trial, and the remains of dead jobs."""
