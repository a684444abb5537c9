sbatch -N2 controller-forgot.sh
