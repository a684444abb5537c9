squeue -t all -j 19
