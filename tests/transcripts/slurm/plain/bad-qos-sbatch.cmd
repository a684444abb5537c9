sbatch -q none --wrap hostname
