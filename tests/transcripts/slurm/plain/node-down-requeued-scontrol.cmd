scontrol show job 31
