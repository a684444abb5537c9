sinfo
