mpiexec -n 2 mdtest -a POSIX -i 1 -d . -E -F -n 10 -e 3901 --saveRankPerformanceDetails=/records/1.csv -X --dataPacketType=random -G 7
