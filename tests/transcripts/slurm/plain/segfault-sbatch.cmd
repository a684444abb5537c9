sbatch -N2 segfault.sh
