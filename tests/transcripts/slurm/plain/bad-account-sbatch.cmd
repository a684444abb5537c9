sbatch -A nobody --wrap hostname
