fio --eta=never --output-format=json+ --output=files-shared-create.json files-shared-create.fio
