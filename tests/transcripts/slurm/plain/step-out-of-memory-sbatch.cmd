sbatch --mem=100 step-out-of-memory.sh
