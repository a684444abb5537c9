squeue -j 99999
