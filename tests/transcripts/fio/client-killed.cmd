# one of the two jobs got SIGKILL after 1.5 s; the other one finished
fio --eta=never --output-format=json --output=client-killed.json client-killed.fio
