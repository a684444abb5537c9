sbatch -N2 exit-3.sh
