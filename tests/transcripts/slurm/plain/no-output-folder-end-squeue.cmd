squeue -t all -j 8
