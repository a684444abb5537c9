mpiexec -n 2 mdtest -a POSIX -i 1 -d . -C -D -z 1 -b 2 -I 3 --saveRankPerformanceDetails=/records/1.csv
