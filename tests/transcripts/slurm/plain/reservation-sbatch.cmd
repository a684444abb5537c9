sbatch --reservation=now -N2 reservation.sh
