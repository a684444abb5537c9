sbatch -d afterok:21 dependency-never.sh
