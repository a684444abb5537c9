sbatch -N2 node-down-requeued.sh
