#include "sandbox.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "bpf.h"
#include "landlock.h"

static enum err failed(struct detail *detail, const char *what)
{
    return detail_set(detail, ERR_CONFIG, "sandbox: cannot %s: %s", what, strerror(errno));
}

static int close_from(unsigned first, unsigned last)
{
    return first > last ? 0 : (int)syscall(SYS_close_range, first, last, 0);
}

/* Closes all descriptors above standard error except those in keep, which need not be sorted. */
static int close_others(const int keep[], unsigned count)
{
    unsigned next = STDERR_FILENO + 1;
    for (unsigned least; count > 0; next = least + 1) {
        least = UINT32_MAX;
        for (unsigned i = 0; i < count; i++)
            if (keep[i] >= (int)next && (unsigned)keep[i] < least)
                least = (unsigned)keep[i];
        if (least == UINT32_MAX)
            break;
        if (close_from(next, least - 1) != 0)
            return -1;
    }
    return close_from(next, ~0u);
}

enum err sandbox_prepare(const int keep[], unsigned count, struct detail *detail)
{
    /* RLIMIT_FSIZE stays: it would stop the log when standard error is a file. */
    const struct rlimit none = {0, 0}, few = {16, 16};
    if (prctl(PR_SET_DUMPABLE, 0) != 0 || setrlimit(RLIMIT_CORE, &none) != 0)
        return failed(detail, "turn off core dumps");
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || setrlimit(RLIMIT_NOFILE, &few) != 0)
        return failed(detail, "set limits");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failed(detail, "forbid new privileges");
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (close_others(keep, count) != 0)
        return failed(detail, "close inherited descriptors");
    return ERR_OK;
}

/* A rule set without rules denies everything. */
static enum err deny_files_and_network(struct detail *detail)
{
    const int version = landlock_version();
    if (version == 0) {
        log_warn("this kernel has no Landlock; only the system call filter restricts the key process", NULL);
        return ERR_OK;
    }
    const int rules = landlock_rules(
        version, LANDLOCK_DENY_FILES | LANDLOCK_DENY_TCP | LANDLOCK_DENY_ABSTRACT | LANDLOCK_DENY_SIGNALS);
    return rules < 0 ? failed(detail, "set up Landlock") : landlock_restrict(rules, detail);
}

#ifndef FAIRWAY_SANITIZED

#define ALLOW_CALL(name) SKIP_UNLESS(SYS_##name, 1), ALLOW
/* Allowed when the first argument is this descriptor. */
#define ALLOW_ON(name, fd) SKIP_UNLESS(SYS_##name, 4), LOAD_ARGUMENT(0), SKIP_UNLESS(fd, 1), ALLOW, KILL
/* Allowed when the memory is not executable (third argument) and is anonymous (fourth argument). */
#define ALLOW_MEMORY(name)                                                                                   \
    SKIP_UNLESS(SYS_##name, 6), LOAD_ARGUMENT(2), SKIP_IF_ANY(PROT_EXEC, 3), LOAD_ARGUMENT(3),               \
        SKIP_UNLESS_ANY(MAP_ANONYMOUS, 1), ALLOW, KILL

static enum err filter_calls(int socket_fd, struct detail *detail)
{
    /* The numbers of x32 calls are not in the list, so those kill too. */
    const struct sock_filter filter[] = {
        LOAD(arch),
        SKIP_IF(BPF_ARCHITECTURE, 1),
        KILL,
        LOAD(nr),
        ALLOW_ON(recvfrom, socket_fd),  /* requests */
        ALLOW_ON(sendmsg, socket_fd),   /* answers */
        ALLOW_ON(write, STDERR_FILENO), /* the log */
        ALLOW_CALL(clock_gettime),      /* its time, where the vDSO makes the call */
        ALLOW_CALL(getrandom),          /* seeds, nonces, salts */
        ALLOW_CALL(brk),                /* malloc */
        ALLOW_MEMORY(mmap),             /* Argon2id's memory; malloc when brk fails */
        ALLOW_CALL(munmap),             /* of the same */
        ALLOW_CALL(exit_group),
        KILL,
    };
    const struct sock_fprog program = {ARRAY_LEN(filter), (struct sock_filter *)filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return failed(detail, "load the system call filter");
    return ERR_OK;
}

#else

static enum err filter_calls(int socket_fd, struct detail *detail)
{
    (void)socket_fd, (void)detail; /* sanitizers need other calls */
    return ERR_OK;
}

#endif

enum err sandbox_enter(int socket_fd, struct detail *detail)
{
    tzset();                /* reads the time zone file now; the log's gmtime could not open it later */
    mallopt(M_MMAP_MAX, 0); /* else malloc would use mremap for large buffers, which is not allowed */
    enum err e = deny_files_and_network(detail);
    return e != ERR_OK ? e : filter_calls(socket_fd, detail);
}
