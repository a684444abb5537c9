scontrol show job 35
