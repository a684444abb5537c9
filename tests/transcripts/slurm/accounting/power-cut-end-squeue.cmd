squeue -t all -j 31
