sbatch -L none:1 --wrap hostname
