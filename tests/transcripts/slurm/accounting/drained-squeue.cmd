squeue -j 17
