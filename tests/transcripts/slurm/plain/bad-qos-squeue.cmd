squeue -j 16
