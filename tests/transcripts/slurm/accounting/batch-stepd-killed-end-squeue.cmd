squeue -t all -j 28
