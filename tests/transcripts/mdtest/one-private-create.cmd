mpiexec -n 2 mdtest -a POSIX -i 1 -d . -C -u -F -z 2 -b 3 -I 2 -w 40960 --dataPacketType=random -G 561058379 --saveRankPerformanceDetails=/records/1.csv
