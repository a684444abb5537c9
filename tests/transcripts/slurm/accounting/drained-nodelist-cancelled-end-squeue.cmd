squeue -t all -j 18
