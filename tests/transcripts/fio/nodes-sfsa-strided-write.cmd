fio --eta=never --output-format=json --output=nodes-sfsa-strided-write.0.json nodes-sfsa-strided-write.0.fio &
fio --eta=never --output-format=json --output=nodes-sfsa-strided-write.1.json nodes-sfsa-strided-write.1.fio &
