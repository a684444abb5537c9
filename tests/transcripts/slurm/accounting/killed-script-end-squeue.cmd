squeue -t all -j 7
