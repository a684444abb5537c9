squeue -j 39
