squeue -j 24
