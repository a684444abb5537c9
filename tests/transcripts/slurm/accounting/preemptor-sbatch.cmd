sbatch -q urgent -N4 --exclusive preemptor.sh
