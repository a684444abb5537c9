scontrol show job 19
