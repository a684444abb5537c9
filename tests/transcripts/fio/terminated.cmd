# SIGTERM after 1.2 s
fio --eta=never --output-format=json --output=terminated.json terminated.fio
