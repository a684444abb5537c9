fio --eta=never --output-format=json --output=nodes-sfwa-read.0.json nodes-sfwa-read.0.fio &
fio --eta=never --output-format=json --output=nodes-sfwa-read.1.json nodes-sfwa-read.1.fio &
