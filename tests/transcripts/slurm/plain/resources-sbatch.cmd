sbatch -N2 resources.sh
