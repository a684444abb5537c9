timeout 90 squeue
