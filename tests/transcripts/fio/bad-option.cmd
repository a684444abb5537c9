# the job file has a misspelt option
fio --eta=never --output-format=json --output=bad-option.json bad-option.fio
