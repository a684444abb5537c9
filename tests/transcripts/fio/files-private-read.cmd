fio --eta=never --output-format=json+ --output=files-private-read.json --alloc-size=16384 files-private-read.fio
