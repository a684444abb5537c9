fio --eta=never --output-format=json --output=sfsa-strided-read.json sfsa-strided-read.fio
