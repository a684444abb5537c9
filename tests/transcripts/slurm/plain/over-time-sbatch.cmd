sbatch -t 5:00:00 --wrap hostname
