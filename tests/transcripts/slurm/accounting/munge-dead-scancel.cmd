timeout 90 scancel 1
