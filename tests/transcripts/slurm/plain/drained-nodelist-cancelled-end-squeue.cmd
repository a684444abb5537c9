squeue -t all -j 20
