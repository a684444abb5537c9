timeout 90 sinfo
