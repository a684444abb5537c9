sbatch -N4 --exclusive resources-holder.sh
