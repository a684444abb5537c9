scontrol show job 43
