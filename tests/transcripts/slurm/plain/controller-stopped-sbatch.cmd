sbatch -N2 controller-stopped.sh
