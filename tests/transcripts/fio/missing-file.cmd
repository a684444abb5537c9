# in an empty directory
fio --eta=never --output-format=json --output=missing-file.json missing-file.fio
