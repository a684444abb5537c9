# in an empty directory, without create_on_open=1 and allow_file_create=0
fio --eta=never --output-format=json+ --output=files-trap-stat.json files-trap-stat.fio
