sbatch -N2 munge-killed.sh
