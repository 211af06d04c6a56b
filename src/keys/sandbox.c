#include "sandbox.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <stddef.h>
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

#if defined(__x86_64__)
#define SANDBOX_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define SANDBOX_ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "the sandbox supports x86_64 and aarch64 only"
#endif

static enum err failed(struct detail *detail, const char *what)
{
    return detail_set(detail, ERR_CONFIG, "sandbox: %s: %s", what, strerror(errno));
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
        return failed(detail, "core dumps");
    if (setrlimit(RLIMIT_NPROC, &none) != 0 || setrlimit(RLIMIT_NOFILE, &few) != 0)
        return failed(detail, "limits");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failed(detail, "no new privileges");
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (close_others(keep, count) != 0)
        return failed(detail, "inherited descriptors");
    return ERR_OK;
}

/*
 * The rights are given as numbers because the headers of older Debian releases lack the later ones. Landlock
 * denies each right that the rule set handles and no rule grants, so a rule set without rules denies all.
 */
static enum err deny_files_and_network(struct detail *detail)
{
    static const uint64_t file_rights[] = {
        0, (1u << 13) - 1, (1u << 14) - 1, (1u << 15) - 1, (1u << 15) - 1, (1u << 16) - 1};
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1u /* ask for the version */);
    if (version < 1) {
        log_warn("this kernel has no Landlock; only the system call filter restricts the key process", NULL);
        return ERR_OK;
    }
    const struct {
        uint64_t files, network, scopes;
    } denied = {
        .files = file_rights[version < 5 ? version : 5],
        .network = version < 4 ? 0 : 3, /* bind and connect of TCP */
        .scopes = version < 6 ? 0 : 3,  /* abstract UNIX sockets, and signals to other processes */
    };
    size_t size = version < 4 ? 8 : version < 6 ? 16 : 24;
    long rules = syscall(SYS_landlock_create_ruleset, &denied, size, 0u);
    if (rules < 0 || syscall(SYS_landlock_restrict_self, rules, 0u) != 0)
        return failed(detail, "Landlock");
    close((int)rules);
    return ERR_OK;
}

#ifndef FAIRWAY_SANITIZED

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW_CALL(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), ALLOW
/* The low half of an argument, which holds all of an int: both supported machines are little endian. */
#define ARGUMENT(n) (offsetof(struct seccomp_data, args) + (n) * sizeof(uint64_t))
#define LOAD_ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)ARGUMENT(n))
/* Allowed when the first argument is this descriptor. */
#define ALLOW_ON(name, fd)                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 4), LOAD_ARGUMENT(0),                                 \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(fd), 0, 1), ALLOW, KILL
/* Allowed when the memory is not executable (third argument) and is anonymous (fourth argument). */
#define ALLOW_MEMORY(name)                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 6), LOAD_ARGUMENT(2),                                 \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 3, 0), LOAD_ARGUMENT(3),                             \
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1), ALLOW, KILL

static enum err filter_calls(int socket_fd, struct detail *detail)
{
    /* The numbers of x32 calls are not in the list, so those kill too. */
    const struct sock_filter filter[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SANDBOX_ARCHITECTURE, 1, 0),
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
        return failed(detail, "system call filter");
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
