# SIGTERM to the second dd after 0.5 s
dd if=/dev/urandom of=data.00000000 seek=0 iflag=fullblock conv=notrunc,fsync bs=1048576 count=256
dd if=/dev/urandom of=data.00000001 seek=0 iflag=fullblock conv=notrunc,fsync bs=1048576 count=256
