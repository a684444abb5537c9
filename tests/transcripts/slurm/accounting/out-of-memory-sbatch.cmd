sbatch --mem=100 out-of-memory.sh
