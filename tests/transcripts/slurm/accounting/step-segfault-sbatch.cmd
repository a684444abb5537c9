sbatch -N2 step-segfault.sh
