squeue -j 28
