sbatch -N4 --exclusive --no-requeue preempted.sh
