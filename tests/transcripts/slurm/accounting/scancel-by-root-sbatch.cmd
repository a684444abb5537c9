sbatch -N2 scancel-by-root.sh
