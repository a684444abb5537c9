# on a tmpfs of 64 KiB and 12 inodes
fio --eta=never --output-format=json+ --output=files-no-space.json --alloc-size=16384 files-no-space.fio
