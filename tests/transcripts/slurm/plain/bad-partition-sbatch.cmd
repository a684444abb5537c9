sbatch -p none --wrap hostname
