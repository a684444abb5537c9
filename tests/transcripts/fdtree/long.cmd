bash fdtree.bash -l 3 -d 10 -f 2 -s 3 -o /scratch/trial
