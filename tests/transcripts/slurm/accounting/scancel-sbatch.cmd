sbatch -N2 scancel.sh
