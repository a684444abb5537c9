dd if=data.00000000 of=/dev/null skip=0 bs=1048576 count=64
dd if=data.00000001 of=/dev/null skip=0 bs=1048576 count=64
