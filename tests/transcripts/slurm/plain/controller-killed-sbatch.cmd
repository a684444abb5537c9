timeout 20 sbatch --wrap hostname
