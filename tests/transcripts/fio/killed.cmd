# SIGKILL to fio and its jobs after 1.2 s
fio --eta=never --output-format=json --output=killed.json killed.fio
