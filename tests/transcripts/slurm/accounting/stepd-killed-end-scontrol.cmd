scontrol show job 27
