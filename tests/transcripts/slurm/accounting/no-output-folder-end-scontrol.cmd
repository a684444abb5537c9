scontrol show job 8
