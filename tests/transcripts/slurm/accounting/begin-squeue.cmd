squeue -j 25
