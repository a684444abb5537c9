scontrol show job 32
