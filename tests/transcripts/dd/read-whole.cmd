dd if=data of=/dev/null skip=0 bs=1048576 count=128
dd if=data of=/dev/null skip=0 bs=1048576 count=128
