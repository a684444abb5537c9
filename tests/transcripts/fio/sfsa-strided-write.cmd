fio --eta=never --output-format=json --output=sfsa-strided-write.json sfsa-strided-write.fio
