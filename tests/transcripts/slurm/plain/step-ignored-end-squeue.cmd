squeue -t all -j 4
