"""All that knows Slurm on the login side: jobs and how they end, jobs of sessions, the scheduled series."""
