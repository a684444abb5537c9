mpiexec -n 2 mdtest -a POSIX -i 1 -d . -T -u -n 20 --saveRankPerformanceDetails=/records/1.csv -N 1
