squeue -t all -j 1
