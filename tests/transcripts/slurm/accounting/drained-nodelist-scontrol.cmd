scontrol show job 18
