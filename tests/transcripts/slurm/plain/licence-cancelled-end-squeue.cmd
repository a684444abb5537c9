squeue -t all -j 24
