sbatch -t 1 time-limit-deaf.sh
