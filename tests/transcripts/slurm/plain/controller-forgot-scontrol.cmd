scontrol show job 39
