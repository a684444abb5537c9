fio --eta=never --output-format=json+ --output=files-private-stat.json files-private-stat.fio
