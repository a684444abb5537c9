mpiexec -n 2 mdtest -a POSIX -i 1 -d . -C -F -n 10 -w 3901 -y --dataPacketType=random -G 561058379 --saveRankPerformanceDetails=/records/1.csv
