/* The walls of the key process: what it gives up, and the few calls that it keeps. No secret is read here. */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stdbool.h>
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
#include "filter.h"
#include "landlock.h"

static enum err failed(struct detail *detail, const char *what)
{
    return detail_set(detail, ERR_CONFIG, "sandbox: cannot %s: %s", what, strerror(errno));
}

static bool is_kept(int fd, const int keep[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (keep[i] == fd)
            return true;
    return false;
}

/* Closes all descriptors above standard error except those in keep. */
static int close_others(const int keep[], unsigned count)
{
    int last = STDERR_FILENO;
    for (unsigned i = 0; i < count; i++)
        last = keep[i] > last ? keep[i] : last;
    for (int fd = STDERR_FILENO + 1; fd < last; fd++)
        if (!is_kept(fd, keep, count))
            close(fd);
    return (int)syscall(SYS_close_range, last + 1, ~0u, 0);
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

static enum err filter_calls(int socket_fd, struct detail *detail)
{
    const uint32_t any_arguments[] = {SYS_clock_gettime, /* the log's time, where the vDSO makes the call */
        SYS_getrandom,                                   /* seeds, nonces, salts */
        SYS_brk,                                         /* malloc */
        SYS_munmap,                                      /* of the same as mmap */
        SYS_exit_group};
    const struct filter_row rows[] = {
        {SYS_recvfrom, 0, UINT32_MAX, ONE_OF((uint32_t)socket_fd)}, /* requests */
        {SYS_sendmsg, 0, UINT32_MAX, ONE_OF((uint32_t)socket_fd)},  /* answers */
        {SYS_write, 0, UINT32_MAX, ONE_OF(STDERR_FILENO)},          /* the log */
        {SYS_mmap, 2, PROT_EXEC, ONE_OF(0)}, /* Argon2id's memory; malloc when brk fails */
        {FILTER_AND, 3, MAP_ANONYMOUS, ONE_OF(MAP_ANONYMOUS)},
    };
    const struct filter filter = {any_arguments, ARRAY_LEN(any_arguments), rows, ARRAY_LEN(rows),
        .matched = SECCOMP_RET_ALLOW, .otherwise = SECCOMP_RET_KILL_PROCESS,
        .later = SECCOMP_RET_KILL_PROCESS};
    return filter_install(&filter, detail);
}

enum err sandbox_enter(int socket_fd, struct detail *detail)
{
    tzset();                /* reads the time zone file now; the log's gmtime could not open it later */
    mallopt(M_MMAP_MAX, 0); /* else malloc would use mremap for large buffers, which is not allowed */
    enum err e = deny_files_and_network(detail);
    return e != ERR_OK ? e : filter_calls(socket_fd, detail);
}
