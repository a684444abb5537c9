scontrol show job 12
