/* For user-mode Linux 6.1 on processors whose extended registers are larger than it has room for, as with AMX.
 *
 * It sets the registers of its processes by PTRACE_SETREGSET with a buffer of 2696 bytes, up to those of AVX-512. Linux
 * takes them only whole (xstateregs_set in arch/x86/kernel/fpu/regset.c), and the kernel ends in a panic at its first
 * process. Loaded before it, this completes the buffer: the added part is unused, and marked so.
 *
 * It includes no header, so that any C compiler can make it.
 */

struct iovec { void *base; unsigned long length; };

long syscall(long number, ...);
int *__errno_location(void);
void *memcpy(void *to, const void *from, unsigned long length);

enum { SYS_PTRACE = 101, PEEK_FIRST = 1, PEEK_LAST = 3, GET = 0x4204, SET = 0x4205, EXTENDED = 0x202 };
enum { COMPONENTS = 512, TILE_CONFIGURATION = 17, TILES = 18 };  /* where XSTATE_BV lies; its bits for AMX */

static char whole[1 << 16] __attribute__((aligned(64)));
static unsigned long size;

long ptrace(int request, int pid, void *address, void *data)
{
    struct iovec mine = {whole, sizeof whole}, *given = data;
    long answer, seen;

    if (request >= PEEK_FIRST && request <= PEEK_LAST) {  /* as glibc does: the system call has another form */
        answer = syscall(SYS_PTRACE, request, pid, address, &seen);
        if (answer < 0)
            return answer;
        *__errno_location() = 0;
        return seen;
    }
    if (request != SET || address != (void *)EXTENDED)
        return syscall(SYS_PTRACE, request, pid, address, data);
    if (!size) {
        answer = syscall(SYS_PTRACE, GET, pid, address, &mine);
        if (answer < 0)
            return answer;
        size = mine.length;
        for (seen = 0; seen < sizeof whole; seen++)
            whole[seen] = 0;
    }
    if (given->length >= size)
        return syscall(SYS_PTRACE, request, pid, address, data);
    memcpy(whole, given->base, given->length);
    *(unsigned long *)(whole + COMPONENTS) &= ~(1UL << TILE_CONFIGURATION | 1UL << TILES);
    mine.length = size;
    return syscall(SYS_PTRACE, request, pid, address, &mine);
}
