scontrol show job 36
