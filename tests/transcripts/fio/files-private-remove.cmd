fio --eta=never --output-format=json+ --output=files-private-remove.json files-private-remove.fio
