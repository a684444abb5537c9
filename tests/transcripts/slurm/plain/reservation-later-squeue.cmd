squeue -j 35
