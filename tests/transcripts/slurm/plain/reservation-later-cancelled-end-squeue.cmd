squeue -t all -j 35
