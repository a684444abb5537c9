squeue -j 13
