sbatch -w n2 drained-nodelist.sh
