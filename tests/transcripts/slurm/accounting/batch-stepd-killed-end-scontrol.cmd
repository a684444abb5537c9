scontrol show job 28
