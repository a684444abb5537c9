squeue -t all -j 26
