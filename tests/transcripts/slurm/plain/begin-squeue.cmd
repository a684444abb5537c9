squeue -j 27
