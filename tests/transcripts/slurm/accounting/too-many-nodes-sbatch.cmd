sbatch -N9 --wrap hostname
