squeue -t all -j 34
