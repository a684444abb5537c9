# without tree/file.1.4
fio --eta=never --output-format=json+ --output=files-missing-stat.json files-missing-stat.fio
