scontrol show job 40
