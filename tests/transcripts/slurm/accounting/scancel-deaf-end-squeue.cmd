squeue -t all -j 12
