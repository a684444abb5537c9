timeout 90 sbatch --wrap hostname
