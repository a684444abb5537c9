scontrol show job 15
