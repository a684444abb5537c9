squeue -t all -j 5
