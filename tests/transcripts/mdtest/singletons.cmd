sh -c mdtest -a POSIX -i 1 -d . -C -n 20 --saveRankPerformanceDetails=/records/1.csv; cd a; mdtest -a POSIX -i 1 -d . -C -n 20 --saveRankPerformanceDetails=/records/1.csv
