"""The run directory: its owner, its creation and removal, the lock of a trial, and the remains of dead jobs."""
