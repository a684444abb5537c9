sbatch -N2 step-ignored.sh
