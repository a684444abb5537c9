fio --eta=never --output-format=json --output=nodes-missing-file.0.json nodes-missing-file.0.fio &
fio --eta=never --output-format=json --output=nodes-missing-file.1.json nodes-missing-file.1.fio &
