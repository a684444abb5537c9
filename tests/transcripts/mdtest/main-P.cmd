mpiexec -n 2 mdtest -d . -F -n 500 -P -i 2
