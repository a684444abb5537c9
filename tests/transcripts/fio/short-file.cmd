# data.00000001 had 100 KiB; fio unlinked it
fio --eta=never --output-format=json --output=short-file.json short-file.fio
