squeue -t all -j 43
