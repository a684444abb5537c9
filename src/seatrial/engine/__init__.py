"""One file a benchmark: what it can express, its command line, its output as typed samples."""
