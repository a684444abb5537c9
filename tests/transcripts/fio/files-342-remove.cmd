# fio 3.42
fio --eta=never --output-format=json+ --output=files-342-remove.json files-342-remove.fio
