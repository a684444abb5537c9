squeue -t all -j 2
