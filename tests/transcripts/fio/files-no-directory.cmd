# without the directory tree
fio --eta=never --output-format=json+ --output=files-no-directory.json files-no-directory.fio
