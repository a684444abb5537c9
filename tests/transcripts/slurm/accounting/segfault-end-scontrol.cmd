scontrol show job 5
