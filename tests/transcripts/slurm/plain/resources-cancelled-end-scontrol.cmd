scontrol show job 26
