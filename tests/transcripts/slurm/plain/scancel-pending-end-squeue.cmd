squeue -t all -j 13
