dd if=/dev/urandom of=data.00000000 seek=0 iflag=fullblock conv=notrunc,fsync bs=1048576 count=64
dd if=/dev/urandom of=data.00000001 seek=0 iflag=fullblock conv=notrunc,fsync bs=1048576 count=64
