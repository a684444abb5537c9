sbatch -N1 -n99 --wrap hostname
