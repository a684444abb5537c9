squeue -t all -j 42
