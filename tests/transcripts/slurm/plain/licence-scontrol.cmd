scontrol show job 24
