sbatch -C gpu --wrap hostname
