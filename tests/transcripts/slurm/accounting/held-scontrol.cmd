scontrol show job 13
