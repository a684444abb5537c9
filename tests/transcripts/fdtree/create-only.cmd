bash fdtree.bash -C -l 1 -d 2 -f 2 -s 1 -o /scratch/trial
