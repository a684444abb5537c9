sinfo -R
