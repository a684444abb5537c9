scontrol show job 16
