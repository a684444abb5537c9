sbatch -N2 step-exit-3.sh
