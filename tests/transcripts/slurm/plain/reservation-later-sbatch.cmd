sbatch --reservation=trial -N2 reservation-later.sh
