sbatch -L seatrial:1 licence-holder.sh
