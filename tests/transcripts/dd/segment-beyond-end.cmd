# data had 100 KiB
dd if=data of=/dev/null skip=0 bs=65536 count=4
dd if=data of=/dev/null skip=4 bs=65536 count=4
