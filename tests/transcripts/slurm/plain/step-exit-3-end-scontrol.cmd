scontrol show job 3
