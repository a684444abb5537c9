sbatch -N2 -t 1 time-limit.sh
