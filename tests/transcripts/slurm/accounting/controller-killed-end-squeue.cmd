squeue -t all -j 37
