scontrol show job 22
