fio --eta=never --output-format=json --output=sfsa-contiguous-read.json sfsa-contiguous-read.fio
