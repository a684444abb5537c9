mpiexec -n 2 mdtest -a POSIX -i 1 -d . -E -u -F -z 2 -b 3 -I 2 -e 40960 --saveRankPerformanceDetails=/records/1.csv
