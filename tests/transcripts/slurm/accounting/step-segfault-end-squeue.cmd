squeue -t all -j 6
