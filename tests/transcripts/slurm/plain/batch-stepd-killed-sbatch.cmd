sbatch --no-requeue batch-stepd-killed.sh
