timeout 20 sinfo
