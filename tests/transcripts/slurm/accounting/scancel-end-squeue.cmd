squeue -t all -j 10
