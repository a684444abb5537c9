squeue -j 40
