sbatch -N2 drained.sh
