squeue -t all -j 29
