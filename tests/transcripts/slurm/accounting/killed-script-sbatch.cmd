sbatch -N2 killed-script.sh
