scontrol show job 37
