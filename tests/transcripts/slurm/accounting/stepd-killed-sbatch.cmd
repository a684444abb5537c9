sbatch -N2 --no-requeue stepd-killed.sh
