squeue -t all -j 22
