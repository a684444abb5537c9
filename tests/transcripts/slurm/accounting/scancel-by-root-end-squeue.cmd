squeue -t all -j 11
