squeue -j 34
