sbatch  controller-forgot-next.sh
