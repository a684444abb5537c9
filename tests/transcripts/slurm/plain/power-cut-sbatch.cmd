sbatch -N2 --no-requeue power-cut.sh
