sbatch --hold scancel-pending.sh
