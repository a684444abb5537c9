squeue -t all -j 36
