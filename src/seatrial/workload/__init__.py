"""The work of tasks on files: one file a kind of workload, and the sweeps over their parameters."""
