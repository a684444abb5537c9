timeout 20 scancel 37
