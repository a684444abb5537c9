sbatch --mem=100G --wrap hostname
