squeue -t all -j 25
