squeue -j 36
