mpiexec -n 2 mdtest -a POSIX -i 1 -d . -r -u -F -z 2 -b 3 -I 2 --saveRankPerformanceDetails=/records/1.csv
