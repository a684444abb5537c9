"""One file a file-system type: capacity, quota, caches, layouts."""
