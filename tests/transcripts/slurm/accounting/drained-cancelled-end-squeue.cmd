squeue -t all -j 17
