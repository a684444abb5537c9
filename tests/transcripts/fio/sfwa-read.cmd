fio --eta=never --output-format=json --output=sfwa-read.json sfwa-read.fio
