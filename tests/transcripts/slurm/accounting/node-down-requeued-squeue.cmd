squeue -j 30
