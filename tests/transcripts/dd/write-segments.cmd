dd if=/dev/urandom of=data seek=0 iflag=fullblock conv=notrunc,fsync bs=1048576 count=64
dd if=/dev/urandom of=data seek=64 iflag=fullblock conv=notrunc,fsync bs=1048576 count=64
