fio --eta=never --output-format=json --output=mfwa-write.json mfwa-write.fio
