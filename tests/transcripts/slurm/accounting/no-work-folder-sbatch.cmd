sbatch -D /nowhere no-work-folder.sh
