mpiexec -n 2 mdtest -a POSIX -i 1 -d . -C -u -F -z 1 -b 10 -I 0 --saveRankPerformanceDetails=/records/1.csv
