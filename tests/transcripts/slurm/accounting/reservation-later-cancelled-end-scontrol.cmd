scontrol show job 34
