mpiexec -n 2 ior -a POSIX -i 1 -k -r -F -b 4194304 -t 65536 -s 1 -o data -O summaryFormat=JSON -O summaryFile=/records/one-mfwa-read.json -O saveRankPerformanceDetailsCSV=/records/one-mfwa-read.csv
