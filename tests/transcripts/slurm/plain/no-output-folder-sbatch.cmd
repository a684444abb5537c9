sbatch -o /nowhere/out no-output-folder.sh
