squeue -t all -j 3
