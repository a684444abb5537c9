scontrol show job 10
