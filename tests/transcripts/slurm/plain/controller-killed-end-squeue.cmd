squeue -t all -j 38
