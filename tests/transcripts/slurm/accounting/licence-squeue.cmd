squeue -j 22
