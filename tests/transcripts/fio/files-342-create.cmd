# fio 3.42
fio --eta=never --output-format=json+ --output=files-342-create.json files-342-create.fio
