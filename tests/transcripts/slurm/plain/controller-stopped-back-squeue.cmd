squeue -j 37
