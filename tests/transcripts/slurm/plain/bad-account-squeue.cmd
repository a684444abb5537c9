squeue -j 15
