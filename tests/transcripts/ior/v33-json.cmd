mpiexec -n 2 ior -a POSIX -w -r -e -i 2 -F -b 4194304 -t 65536 -o data -O summaryFormat=JSON -O summaryFile=/records/v33.json
