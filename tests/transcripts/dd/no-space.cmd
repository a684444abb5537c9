# on a tmpfs of 384 KiB
dd if=/dev/urandom of=data.00000000 seek=0 iflag=fullblock conv=notrunc,fsync bs=65536 count=4
dd if=/dev/urandom of=data.00000001 seek=0 iflag=fullblock conv=notrunc,fsync bs=65536 count=4
