scontrol show job 38
