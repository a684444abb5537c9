scontrol show job 41
