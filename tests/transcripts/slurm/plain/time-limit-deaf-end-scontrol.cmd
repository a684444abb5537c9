scontrol show job 42
