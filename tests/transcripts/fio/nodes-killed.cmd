fio --eta=never --output-format=json --output=nodes-killed.0.json nodes-killed.0.fio &
fio --eta=never --output-format=json --output=nodes-killed.1.json nodes-killed.1.fio &
