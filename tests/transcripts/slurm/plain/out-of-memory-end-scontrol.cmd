scontrol show job 33
