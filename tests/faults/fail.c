/*
 * Preloaded by tests into `fairway serve`, or into the program that FAIRWAY_FAIL_PROGRAM names: makes one
 * allocation or one system call fail, or interrupts system calls. FAIRWAY_FAIL names a file with two 64-bit
 * integers in the machine's byte order, which the test writes at any time and which count down: the n-th
 * allocation from now on fails when the first is n, and the n-th system call of those below when the second
 * is n; 0: none. A negative second number interrupts about half of those calls that can block, irregularly: a
 * loop of two calls would otherwise always be interrupted at the same one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* glibc's allocator; dlsym itself allocates. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

struct countdowns {
    _Atomic int64_t allocations, calls;
};

static struct countdowns none, *left = &none;
static bool is_sandboxed; /* the key process: any other system call would kill it */

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("FAIRWAY_FAIL"), *program = getenv("FAIRWAY_FAIL_PROGRAM");
    if (path == NULL || strcmp(program_invocation_short_name, program != NULL ? program : "fairway") != 0)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *memory = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *left, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    is_sandboxed = program != NULL;
    if (memory != MAP_FAILED)
        left = memory;
}

/* An event or timer descriptor never fails. */
static bool can_fail(int fd)
{
    struct stat status;
    return is_sandboxed || (fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) != 0);
}

/* Whether this is the call that fails. */
static bool counts_down(_Atomic int64_t *count)
{
    int64_t now = atomic_load(count);
    while (now > 0)
        if (atomic_compare_exchange_weak(count, &now, now - 1))
            return now == 1;
    return false;
}

/* A signal interrupts only a call that can block. */
static bool can_block(int fd, int flags)
{
    int status = fcntl(fd, F_GETFL);
    return status >= 0 && (status & O_NONBLOCK) == 0 && (flags & MSG_DONTWAIT) == 0;
}

static bool interrupts(void)
{
    int64_t now = atomic_load(&left->calls);
    while (now < 0)
        if (atomic_compare_exchange_weak(&left->calls, &now, now - 1 == INT64_MIN ? -1 : now - 1))
            return ((uint64_t)now * 0x9e3779b97f4a7c15u) >> 63 != 0;
    return false;
}

void *malloc(size_t size)
{
    return counts_down(&left->allocations) ? (errno = ENOMEM, NULL) : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return counts_down(&left->allocations) ? (errno = ENOMEM, NULL) : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return counts_down(&left->allocations) ? (errno = ENOMEM, NULL) : __libc_realloc(old, size);
}

#define CALL(function, fails, error, blocks, ...)                                                            \
    static __typeof__(&(function)) next;                                                                     \
    if (next == NULL)                                                                                        \
        next = (__typeof__(&(function)))dlsym(RTLD_NEXT, #function);                                         \
    if ((fails) && counts_down(&left->calls)) {                                                              \
        errno = (error);                                                                                     \
        return -1;                                                                                           \
    }                                                                                                        \
    if (atomic_load(&left->calls) < 0 && (blocks) && interrupts()) {                                         \
        errno = EINTR;                                                                                       \
        return -1;                                                                                           \
    }                                                                                                        \
    return next(__VA_ARGS__)

ssize_t read(int fd, void *out, size_t len)
{
    CALL(read, can_fail(fd), EIO, can_block(fd, 0), fd, out, len);
}

ssize_t write(int fd, const void *data, size_t len)
{
    CALL(write, can_fail(fd), EIO, can_block(fd, 0), fd, data, len);
}

ssize_t recv(int fd, void *out, size_t len, int flags)
{
    CALL(recv, true, ECONNRESET, can_block(fd, flags), fd, out, len, flags);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    CALL(send, true, EPIPE, can_block(fd, flags), fd, data, len, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    CALL(sendmsg, true, EPIPE, can_block(fd, flags), fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    CALL(recvmsg, true, ECONNRESET, can_block(fd, flags), fd, message, flags);
}

ssize_t getrandom(void *out, size_t len, unsigned flags)
{
    CALL(getrandom, true, EIO, false, out, len, flags);
}

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
    static __typeof__(&mmap) next;
    if (next == NULL)
        next = (__typeof__(&mmap))dlsym(RTLD_NEXT, "mmap");
    return counts_down(&left->allocations) ? (errno = ENOMEM, MAP_FAILED)
                                           : next(at, len, protection, flags, fd, offset);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    CALL(poll, true, ENOMEM, timeout != 0, fds, count, timeout);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout)
{
    CALL(epoll_wait, false, 0, timeout != 0, fd, events, count, timeout);
}
