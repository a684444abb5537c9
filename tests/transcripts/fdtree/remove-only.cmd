bash fdtree.bash -R -l 1 -d 2 -f 2 -s 1 -o /scratch/trial
