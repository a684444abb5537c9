# on a tmpfs of 384 KiB
fio --eta=never --output-format=json --output=no-space.json no-space.fio
