squeue -t all -j 39
