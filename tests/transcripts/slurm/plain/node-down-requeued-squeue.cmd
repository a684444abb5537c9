squeue -j 31
