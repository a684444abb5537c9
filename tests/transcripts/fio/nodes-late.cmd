fio --eta=never --output-format=json --output=nodes-late.0.json nodes-late.0.fio &
fio --eta=never --output-format=json --output=nodes-late.1.json nodes-late.1.fio &
