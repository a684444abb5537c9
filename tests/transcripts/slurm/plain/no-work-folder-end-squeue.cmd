squeue -t all -j 9
