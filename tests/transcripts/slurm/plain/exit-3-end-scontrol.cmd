scontrol show job 2
