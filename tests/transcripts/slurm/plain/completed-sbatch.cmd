sbatch -N2 completed.sh
