/* Preloaded: of files whose path has FAILING_FILE in it, FAILING_CALL (write, read, fsync, close) fails with
   FAILING_ERRNO, or fsync takes 60 s for each 32 MiB of the file ("slow"); or it pretends: "unsynced" that it has synced, "holes" that it has written every other block, "end" that it has
   written what lies behind the first 4 MiB, "zeros" and "alike" that it has written what it was given, "dropped" that it has written at all, "elsewhere" that it has written
   where it was to, though that was the second half in place of the first, "copied" that it has written every other block, which the file system copies from FAILING_SOURCE. "flipped" writes, and "misread" reads, the
   first byte of each process's first data as another one, and "nothing" reads zeros. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int concerned(int descriptor)
{
    char link[64], path[4096];
    const char *where = getenv("FAILING_FILE");
    if (!getenv("FAILING_CALL") || !where)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return strstr(path, where) != NULL;
}

static int is(const char *call, int descriptor)
{
    const char *asked = getenv("FAILING_CALL");
    return asked && !strcmp(asked, call) && concerned(descriptor);
}

static int fails(const char *call, int descriptor)
{
    if (!is(call, descriptor))
        return 0;
    errno = atoi(getenv("FAILING_ERRNO"));
    return 1;
}

static void flip(char *b, size_t n)
{
    static int done;
    if (!done++ && n)
        b[0] ^= 1;
}

static ssize_t put(ssize_t (*next)(int, const void *, size_t, off_t), int d, const void *b, size_t n, off_t o)
{
    if (fails("write", d))
        return -1;
    if (is("holes", d) && o / n % 2 == 0)
        return n;
    if (is("zeros", d))
        memset((void *)b, 0, n);
    if (is("alike", d))
        memset((void *)b, 'x', n);
    if (is("dropped", d) || is("elsewhere", d) || (is("end", d) && o >= 4 << 20)) {
        struct stat seen;
        if (is("elsewhere", d))
            next(d, (const char *)b + n / 2, n - n / 2, o);
        if (fstat(d, &seen) == 0 && seen.st_size < o + (off_t)n && ftruncate(d, o + n))
            return -1;
        return n;
    }
    if (is("copied", d) && o / n % 2) {
        int kept = open(getenv("FAILING_SOURCE"), O_RDONLY);
        off64_t from = o, to = o;
        ssize_t done = copy_file_range(kept, &from, d, &to, n, 0);
        close(kept);
        return done;
    }
    if (is("flipped", d))
        flip((void *)b, n);
    return next(d, b, n, o);
}

static ssize_t got(int d, void *b, ssize_t n)
{
    if (n > 0 && is("nothing", d))
        memset(b, 0, n);
    if (n > 0 && is("misread", d))
        flip(b, n);
    return n;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int d, const void *b, size_t n)
{
    off_t o = concerned(d) ? lseek(d, 0, SEEK_CUR) : -1;
    if (o < 0)
        return NEXT(write)(d, b, n);
    ssize_t done = put(NEXT(pwrite), d, b, n, o);
    if (done > 0)
        lseek(d, o + done, SEEK_SET);
    return done;
}

ssize_t readv(int d, const struct iovec *v, int n)
{
    return fails("read", d) ? -1 : got(d, v[0].iov_base, NEXT(readv)(d, v, n));
}

ssize_t pwrite(int d, const void *b, size_t n, off_t o) { return put(NEXT(pwrite), d, b, n, o); }
ssize_t pwrite64(int d, const void *b, size_t n, off64_t o) { return put(NEXT(pwrite64), d, b, n, o); }
ssize_t read(int d, void *b, size_t n) { return fails("read", d) ? -1 : got(d, b, NEXT(read)(d, b, n)); }
ssize_t pread(int d, void *b, size_t n, off_t o) { return fails("read", d) ? -1 : got(d, b, NEXT(pread)(d, b, n, o)); }
ssize_t pread64(int d, void *b, size_t n, off64_t o)
{
    return fails("read", d) ? -1 : got(d, b, NEXT(pread64)(d, b, n, o));
}
int fsync(int d)
{
    struct stat seen;
    if (is("slow", d) && fstat(d, &seen) == 0)
        usleep(60e6 * seen.st_size / (32 << 20));
    return fails("fsync", d) ? -1 : is("unsynced", d) ? 0 : NEXT(fsync)(d);
}
int close(int d)
{
    int failing = fails("close", d), error = errno, done = NEXT(close)(d);
    errno = failing ? error : errno;
    return failing ? -1 : done;
}
