sbatch -d afterok:19 dependency-never.sh
