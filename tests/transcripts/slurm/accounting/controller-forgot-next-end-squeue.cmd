squeue -t all -j 40
