mpiexec -n 1 mdtest -a POSIX -i 1 -d . -C -u -n 20 --saveRankPerformanceDetails=/records/1.csv
