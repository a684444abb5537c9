timeout 20 scontrol show job 38
