fio --eta=never --output-format=json+ --output=files-private-create.json --alloc-size=16384 files-private-create.fio
