squeue -t all -j 27
