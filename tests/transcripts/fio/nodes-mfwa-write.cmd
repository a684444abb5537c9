fio --eta=never --output-format=json --output=nodes-mfwa-write.0.json nodes-mfwa-write.0.fio &
fio --eta=never --output-format=json --output=nodes-mfwa-write.1.json nodes-mfwa-write.1.fio &
