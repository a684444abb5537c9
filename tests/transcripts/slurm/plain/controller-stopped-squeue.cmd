timeout 8 squeue
