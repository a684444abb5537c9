scontrol show job 30
