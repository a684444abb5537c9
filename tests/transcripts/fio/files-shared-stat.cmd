fio --eta=never --output-format=json+ --output=files-shared-stat.json files-shared-stat.fio
