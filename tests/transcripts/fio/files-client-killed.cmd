# one of the two jobs got SIGKILL after 2.6 s; the other one finished
fio --eta=never --output-format=json+ --output=files-client-killed.json files-client-killed.fio
