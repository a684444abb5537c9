fio --eta=never --output-format=json+ --output=files-shared-remove.json files-shared-remove.fio
