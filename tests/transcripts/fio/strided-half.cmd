# the job file has the obvious size, the bytes of one job, in place of the right one
fio --eta=never --output-format=json --output=strided-half.json strided-half.fio
