squeue -t all -j 32
