squeue -j 26
