scontrol show job 9
