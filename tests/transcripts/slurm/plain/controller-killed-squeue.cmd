timeout 20 squeue
