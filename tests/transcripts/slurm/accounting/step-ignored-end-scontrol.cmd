scontrol show job 4
