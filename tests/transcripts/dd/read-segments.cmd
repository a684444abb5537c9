dd if=data of=/dev/null skip=0 bs=1048576 count=64
dd if=data of=/dev/null skip=64 bs=1048576 count=64
