sbatch -N2 scancel-deaf.sh
