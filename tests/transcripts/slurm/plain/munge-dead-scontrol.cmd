timeout 90 scontrol show job 40
