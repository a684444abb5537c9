# in an empty directory
dd if=data.00000000 of=/dev/null skip=0 bs=65536 count=4
dd if=data.00000001 of=/dev/null skip=0 bs=65536 count=4
