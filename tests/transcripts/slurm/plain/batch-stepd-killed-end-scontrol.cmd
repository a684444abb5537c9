scontrol show job 29
