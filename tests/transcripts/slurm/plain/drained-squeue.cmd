squeue -j 19
