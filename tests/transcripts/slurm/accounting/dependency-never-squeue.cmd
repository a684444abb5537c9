squeue -j 20
