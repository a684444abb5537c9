# tree.1/file.1.4 has 3000 B
fio --eta=never --output-format=json+ --output=files-short-read.json --alloc-size=16384 files-short-read.fio
