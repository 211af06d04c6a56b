#include "confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "bpf.h"
#include "keys/confine.h"

#ifndef FAIRWAY_SANITIZED /* sanitizers start programs and attach to themselves */

/*
 * What fairway and its libraries (libc, libpq, libcurl, OpenSSL, libmicrohttpd, Kerberos) call, also when
 * names, certificates and connections are read again. Any other call fails with EPERM. One that Linux has
 * since 5.1 fails with ENOSYS, as on an older kernel: a library then uses the older call.
 */
static const uint32_t allowed[] = {
    /* descriptors, sockets, waiting */
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_preadv, SYS_pwrite64, SYS_lseek,
    SYS_sendfile, SYS_dup, SYS_pipe2, SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime,
    SYS_timerfd_gettime, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_pselect6,
    SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_shutdown, SYS_getsockname,
    SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_recvfrom,
    SYS_recvmsg, SYS_recvmmsg,
    /* files: Landlock says which, and that they are only read */
    SYS_openat, SYS_newfstatat, SYS_fstat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_faccessat, SYS_readlinkat,
    SYS_getdents64, SYS_getcwd, SYS_fadvise64,
    /* memory */
    SYS_brk, SYS_munmap, SYS_mremap, SYS_madvise, SYS_mlock, SYS_mlock2, SYS_munlock, SYS_mincore, SYS_msync,
    SYS_membarrier,
    /* threads, signals, the end */
    SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max, SYS_sched_get_priority_min,
    SYS_getcpu, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigpending, SYS_rt_sigtimedwait,
    SYS_rt_sigsuspend, SYS_rt_sigreturn, SYS_sigaltstack, SYS_restart_syscall, SYS_wait4, SYS_waitid,
    SYS_exit, SYS_exit_group,
    /* time, random numbers, and what it is itself */
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_getrandom,
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid,
    SYS_getresgid, SYS_getgroups, SYS_getrusage, SYS_times, SYS_sysinfo, SYS_uname, SYS_capget,
#ifdef SYS_open /* older calls, which only x86-64 has */
    SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_getdents, SYS_pipe, SYS_poll, SYS_select,
    SYS_epoll_wait, SYS_time, SYS_getrlimit, SYS_setrlimit, SYS_arch_prctl, SYS_pause,
#endif
    /* a further filter: confine_listening */
    SYS_seccomp};

enum {
    FIRST_NEW_CALL = 424,  /* of Linux 5.1: from here on numbers are the same on all machines */
    CALL_FACCESSAT2 = 439, /* older headers lack it */
    X32_BIT = 0x40000000,  /* of the numbers of x86-64's second set of calls */
    SET_VMA = 0x53564d41,  /* PR_SET_VMA: names memory */
    TYPE_BITS = 0xf,       /* of a socket's type; the others are flags */
    /* the C library starts a thread with exactly these */
    THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
             CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID
};

static enum err install(const struct sock_filter *filter, size_t count, struct detail *detail)
{
    const struct sock_fprog program = {(unsigned short)count, (struct sock_filter *)filter};
    /* for all threads: those have the same filters, because they were started after the first one */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
        return detail_set(
            detail, ERR_CONFIG, "sandbox: cannot load the system call filter: %s", strerror(errno));
    return ERR_OK;
}

enum err confine_calls(int keyd_pidfd, struct confine_report *report, struct detail *detail)
{
    const struct sock_filter head[] = {
        LOAD(arch),
        SKIP_IF(BPF_ARCHITECTURE, 1),
        KILL,
        LOAD(nr),
#if defined(__x86_64__)
        SKIP_UNLESS_ANY(X32_BIT, 1),
        FAIL(EPERM),
#endif
    };
    const uint32_t self = (uint32_t)getpid(), keyd = (uint32_t)keyd_pidfd;
    const struct sock_filter tail[] = {SKIP_UNLESS(CALL_FACCESSAT2, 1), ALLOW,
        /* Memory that can be executed is that of files: libraries that are loaded late. */
        SKIP_UNLESS(SYS_mmap, 7), LOAD_ARGUMENT(2), SKIP_UNLESS_ANY(PROT_EXEC, 4), SKIP_IF_ANY(PROT_WRITE, 2),
        LOAD_ARGUMENT(3), SKIP_UNLESS_ANY(MAP_ANONYMOUS, 1), FAIL(EACCES), ALLOW,
        SKIP_UNLESS(SYS_mprotect, 4), LOAD_ARGUMENT(2), SKIP_UNLESS_ANY(PROT_EXEC, 1), FAIL(EACCES), ALLOW,
        /* Threads, but no processes and no namespaces. The flags of clone3 are in memory, which a filter
           cannot read; after ENOSYS the C library calls clone. */
        SKIP_UNLESS(SYS_clone, 4), LOAD_ARGUMENT(0), SKIP_IF(THREAD, 1), FAIL(EPERM), ALLOW,
        /* UNIX, TCP and UDP sockets; and netlink's routes, by which getaddrinfo finds its addresses */
        SKIP_UNLESS(SYS_socketpair, 4), LOAD_ARGUMENT(0), SKIP_IF(AF_UNIX, 1), FAIL(EPERM), ALLOW,
        SKIP_UNLESS(SYS_socket, 20), LOAD_ARGUMENT(0), SKIP_UNLESS(AF_NETLINK, 3), LOAD_ARGUMENT(2),
        SKIP_IF(NETLINK_ROUTE, 15), FAIL(EPERM), SKIP_IF(AF_UNIX, 3), SKIP_IF(AF_INET, 2),
        SKIP_IF(AF_INET6, 1), FAIL(EPERM), LOAD_ARGUMENT(1), KEEP_BITS(TYPE_BITS), SKIP_IF(SOCK_STREAM, 2),
        SKIP_IF(SOCK_DGRAM, 1), FAIL(EPERM), LOAD_ARGUMENT(2), SKIP_IF(0, 3), SKIP_IF(IPPROTO_TCP, 2),
        SKIP_IF(IPPROTO_UDP, 1), FAIL(EPERM), ALLOW,
        /* Signals to itself (abort); and SIGKILL to the key process, when that does not answer. Not by its
           number: another process may get that later. So the descriptor must stay what it is. Flags would
           signal its group. */
        SKIP_UNLESS(SYS_tgkill, 4), LOAD_ARGUMENT(0), SKIP_IF(self, 1), FAIL(EPERM), ALLOW,
        SKIP_UNLESS(SYS_pidfd_send_signal, 8), LOAD_ARGUMENT(0), SKIP_UNLESS(keyd, 5), LOAD_ARGUMENT(1),
        SKIP_UNLESS(SIGKILL, 3), LOAD_ARGUMENT(3), SKIP_UNLESS(0, 1), ALLOW, FAIL(EPERM),
        SKIP_UNLESS(SYS_close, 4), LOAD_ARGUMENT(0), SKIP_IF(keyd, 1), ALLOW, FAIL(EPERM),
#ifdef SYS_dup2
        SKIP_UNLESS(SYS_dup2, 4), LOAD_ARGUMENT(1), SKIP_IF(keyd, 1), ALLOW, FAIL(EPERM),
#endif
        SKIP_UNLESS(SYS_dup3, 4), LOAD_ARGUMENT(1), SKIP_IF(keyd, 1), ALLOW, FAIL(EPERM),
        /* Not F_SETOWN: the kernel signals the owner of a descriptor, which may be any process of this user.
         */
        SKIP_UNLESS(SYS_fcntl, 12), LOAD_ARGUMENT(1), SKIP_IF(F_DUPFD, 9), SKIP_IF(F_DUPFD_CLOEXEC, 8),
        SKIP_IF(F_GETFD, 7), SKIP_IF(F_SETFD, 6), SKIP_IF(F_GETFL, 5), SKIP_IF(F_SETFL, 4),
        SKIP_IF(F_SETLK, 3), SKIP_IF(F_SETLKW, 2), SKIP_IF(F_OFD_SETLK, 1), FAIL(EPERM), ALLOW,
        SKIP_UNLESS(SYS_ioctl, 8), LOAD_ARGUMENT(1), SKIP_IF(FIONREAD, 5), SKIP_IF(FIONBIO, 4),
        SKIP_IF(TIOCOUTQ, 3), SKIP_IF(TCGETS, 2), SKIP_IF(FIOCLEX, 1), FAIL(EPERM), ALLOW,
        SKIP_UNLESS(SYS_prctl, 6), LOAD_ARGUMENT(0), SKIP_IF(PR_SET_NAME, 3), SKIP_IF(PR_GET_NAME, 2),
        SKIP_IF(SET_VMA, 1), FAIL(EPERM), ALLOW,
        /* Limits of its own; 0 means itself */
        SKIP_UNLESS(SYS_prlimit64, 5), LOAD_ARGUMENT(0), SKIP_IF(0, 2), SKIP_IF(self, 1), FAIL(EPERM), ALLOW,
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_NEW_CALL, 1, 0), FAIL(EPERM), FAIL(ENOSYS)};
    struct sock_filter filter[ARRAY_LEN(head) + 2 * ARRAY_LEN(allowed) + ARRAY_LEN(tail)];
    struct sock_filter *next = filter + ARRAY_LEN(head);
    memcpy(filter, head, sizeof head);
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++, next += 2)
        memcpy(next, (const struct sock_filter[]){SKIP_UNLESS(allowed[i], 1), ALLOW}, 2 * sizeof *next);
    memcpy(next, tail, sizeof tail);
    report->filter = true;
    return install(filter, ARRAY_LEN(filter), detail);
}

enum err confine_listening(struct detail *detail)
{
    const struct sock_filter filter[] = {LOAD(nr), SKIP_IF(SYS_bind, 2), SKIP_IF(SYS_listen, 1),
        SKIP_UNLESS(SYS_seccomp, 1), FAIL(EPERM), ALLOW};
    return install(filter, ARRAY_LEN(filter), detail);
}

#else

enum err confine_calls(int keyd_pidfd, struct confine_report *report, struct detail *detail)
{
    (void)keyd_pidfd, (void)detail;
    report->filter = false;
    return ERR_OK;
}

enum err confine_listening(struct detail *detail)
{
    (void)detail;
    return ERR_OK;
}

#endif
