squeue -t all -j 33
