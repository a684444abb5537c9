"""One file a benchmark: the points that it can carry out, its command line, and its output as typed samples."""
