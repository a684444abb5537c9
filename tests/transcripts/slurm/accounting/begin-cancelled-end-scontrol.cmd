scontrol show job 25
