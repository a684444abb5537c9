fio --eta=never --output-format=json --output=sfsa-contiguous-write.json sfsa-contiguous-write.fio
