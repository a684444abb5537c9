fio --eta=never --output-format=json --output=nodes-mfwa-read.0.json nodes-mfwa-read.0.fio &
fio --eta=never --output-format=json --output=nodes-mfwa-read.1.json nodes-mfwa-read.1.fio &
