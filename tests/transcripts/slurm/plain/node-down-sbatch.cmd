sbatch -N2 --no-requeue node-down.sh
