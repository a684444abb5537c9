sbatch -L seatrial:1 licence.sh
