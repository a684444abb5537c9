squeue -j 18
