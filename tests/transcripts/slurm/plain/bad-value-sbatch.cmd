sbatch -N many --wrap hostname
