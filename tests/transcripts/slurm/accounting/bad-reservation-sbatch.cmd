sbatch --reservation=none --wrap hostname
