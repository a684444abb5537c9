squeue -t all -j 41
