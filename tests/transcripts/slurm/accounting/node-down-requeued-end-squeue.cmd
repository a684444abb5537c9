squeue -t all -j 30
