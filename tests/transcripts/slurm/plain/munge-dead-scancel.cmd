timeout 90 scancel 40
