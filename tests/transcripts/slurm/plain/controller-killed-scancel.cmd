timeout 20 scancel 38
