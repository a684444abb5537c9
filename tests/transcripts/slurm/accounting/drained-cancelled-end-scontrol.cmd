scontrol show job 17
