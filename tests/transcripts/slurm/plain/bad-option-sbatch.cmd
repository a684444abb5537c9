sbatch --no-such-option --wrap hostname
