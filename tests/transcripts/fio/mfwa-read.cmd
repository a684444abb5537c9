fio --eta=never --output-format=json --output=mfwa-read.json mfwa-read.fio
