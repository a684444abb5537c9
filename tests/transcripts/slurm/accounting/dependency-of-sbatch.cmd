sbatch  dependency-of.sh
