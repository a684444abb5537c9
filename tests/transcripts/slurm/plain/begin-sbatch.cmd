sbatch --begin=now+1hour begin.sh
