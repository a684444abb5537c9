"""What tasks do to files: one file a kind of workload, and the sweeps over their parameters."""
