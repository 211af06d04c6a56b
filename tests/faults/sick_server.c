/*
 * Preloaded into a PostgreSQL server by tests.
 *
 * While the file named by FULL_DISK exists, no file below base/ can grow. Existing blocks can be overwritten,
 * as on a real full disk. WAL is not affected, because a server that cannot write WAL stops.
 *
 * The clock is fast by the seconds that the file named by FAST_CLOCK has.
 *
 * Preloaded into fairway, whose walls let it open no file: the clock is fast by FAST_SECONDS. The monotonic
 * clock is fast by the seconds in the file named by MONOTONIC_CLOCK, which is mapped before the walls stand.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

static bool refuses(int fd, off_t end)
{
    char link[64], path[4096];
    struct stat status;
    const char *flag = getenv("FULL_DISK");
    if (flag == NULL || access(flag, F_OK) != 0)
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path - 1);
    if (len <= 0 || fstat(fd, &status) != 0)
        return false;
    path[len] = '\0';
    return strstr(path, "/base/") != NULL && end > status.st_size;
}

static off_t total(const struct iovec *parts, int count)
{
    off_t sum = 0;
    for (int i = 0; i < count; i++)
        sum += (off_t)parts[i].iov_len;
    return sum;
}

#define REFUSE(fd, end)                                                                                      \
    if (refuses(fd, end)) {                                                                                  \
        errno = ENOSPC;                                                                                      \
        return -1;                                                                                           \
    }

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    REFUSE(fd, offset + (off_t)len)
    return NEXT(pwrite)(fd, data, len, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t offset)
{
    REFUSE(fd, offset + (off_t)len)
    return NEXT(pwrite64)(fd, data, len, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    REFUSE(fd, offset + total(parts, count))
    return NEXT(pwritev)(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset)
{
    REFUSE(fd, offset + total(parts, count))
    return NEXT(pwritev64)(fd, parts, count, offset);
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    return refuses(fd, offset + len) ? ENOSPC : NEXT(posix_fallocate)(fd, offset, len);
}

int posix_fallocate64(int fd, off64_t offset, off64_t len)
{
    return refuses(fd, offset + len) ? ENOSPC : NEXT(posix_fallocate64)(fd, offset, len);
}

int gettimeofday(struct timeval *now, void *zone)
{
    char text[16] = "";
    const char *name = getenv("FAST_CLOCK");
    int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof text - 1) < 0)
        text[0] = '\0';
    if (fd >= 0)
        close(fd);
    const int result = NEXT(gettimeofday)(now, zone);
    now->tv_sec += atol(text);
    return result;
}

time_t time(time_t *out)
{
    const char *fast = getenv("FAST_SECONDS");
    const time_t now = NEXT(time)(NULL) + (fast == NULL ? 0 : atol(fast));
    if (out != NULL)
        *out = now;
    return now;
}

static const volatile int64_t *monotonic; /* NULL: it is right */

__attribute__((constructor)) static void map_clock(void)
{
    const char *name = getenv("MONOTONIC_CLOCK");
    int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *monotonic, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (map != MAP_FAILED)
        monotonic = map;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static __typeof__(&clock_gettime) next;
    if (next == NULL)
        next = NEXT(clock_gettime);
    const int result = next(clock, out);
    if (result == 0 && clock == CLOCK_MONOTONIC && monotonic != NULL)
        out->tv_sec += *monotonic;
    return result;
}

/* All condition variables of fairway are on the monotonic clock. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    struct timespec real = *until;
    real.tv_sec -= monotonic == NULL ? 0 : *monotonic;
    return pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &real);
}
