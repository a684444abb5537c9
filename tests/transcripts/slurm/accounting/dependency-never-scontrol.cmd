scontrol show job 20
