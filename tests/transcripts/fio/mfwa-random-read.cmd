fio --eta=never --output-format=json --output=mfwa-random-read.json mfwa-random-read.fio
