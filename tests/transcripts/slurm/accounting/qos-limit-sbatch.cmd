sbatch -q onenode -N2 qos-limit.sh
