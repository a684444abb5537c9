timeout 60 fileop -f 3 -b -w -d /scratch/trial 
