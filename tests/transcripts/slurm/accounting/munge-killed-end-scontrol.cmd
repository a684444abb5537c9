scontrol show job 1
