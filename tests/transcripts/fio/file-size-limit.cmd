# under ulimit -f 128 KiB, with SIGXFSZ at its default
fio --eta=never --output-format=json --output=file-size-limit.json file-size-limit.fio
