# on a tmpfs of 12 inodes
fio --eta=never --output-format=json+ --output=files-no-inodes.json files-no-inodes.fio
