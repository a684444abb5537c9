squeue -j 38
