/* The system calls of a confined fairway, as a table. How it becomes a filter is in filter.c. */
#include "confine_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "filter.h"

enum {
    CALL_FACCESSAT2 = 439, /* older headers lack it */
    SET_VMA = 0x53564d41,  /* PR_SET_VMA: names memory */
    TYPE_BITS = 0xf,       /* of a socket's type; the others are flags */
    ALL = UINT32_MAX,
    /* the C library starts a thread with exactly these */
    THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
             CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID
};

/*
 * What fairway and its libraries (libc, libpq, libcurl, OpenSSL, libmicrohttpd, Kerberos) call, also when
 * names, certificates and connections are read again. Any other call fails with EPERM. One that Linux has
 * since 5.1 fails with ENOSYS, as on an older kernel: a library then uses the older call.
 */
static const uint32_t any_arguments[] = {
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
    CALL_FACCESSAT2,
    /* a further filter: confine_listening */
    SYS_seccomp};

enum err confine_calls(int keyd_pidfd, struct detail *detail)
{
    const uint32_t self = (uint32_t)getpid(), keyd = (uint32_t)keyd_pidfd;
    const struct filter_row rows[] = {
        /* Memory that can be executed is private and that of files: libraries that are loaded late. No filter
           sees whether a file can be written, so one remains: a file that a process outside passes to it. */
        {SYS_mmap, 2, PROT_EXEC, ONE_OF(0)},
        {SYS_mmap, 2, PROT_EXEC | PROT_WRITE, ONE_OF(PROT_EXEC)},
        {FILTER_AND, 3, MAP_ANONYMOUS | MAP_TYPE, ONE_OF(MAP_PRIVATE)},
        {SYS_mprotect, 2, PROT_EXEC, ONE_OF(0)},
        /* Threads, but no processes and no namespaces. The flags of clone3 are in memory, which a filter
           cannot read; after ENOSYS the C library calls clone. */
        {SYS_clone, 0, ALL, ONE_OF(THREAD)},
        /* UNIX, TCP and UDP sockets; and netlink's routes, by which getaddrinfo finds its addresses */
        {SYS_socketpair, 0, ALL, ONE_OF(AF_UNIX)},
        {SYS_socket, 0, ALL, ONE_OF(AF_NETLINK)},
        {FILTER_AND, 2, ALL, ONE_OF(NETLINK_ROUTE)},
        {SYS_socket, 0, ALL, ONE_OF(AF_UNIX, AF_INET, AF_INET6)},
        {FILTER_AND, 1, TYPE_BITS, ONE_OF(SOCK_STREAM, SOCK_DGRAM)},
        {FILTER_AND, 2, ALL, ONE_OF(0, IPPROTO_TCP, IPPROTO_UDP)},
        /* Signals to itself (abort); and SIGKILL to the key process, when that does not answer. Not by its
           number: another process may get that later. So the descriptor must stay what it is. Flags would
           signal its group. */
        {SYS_tgkill, 0, ALL, ONE_OF(self)},
        {SYS_pidfd_send_signal, 0, ALL, ONE_OF(keyd)},
        {FILTER_AND, 1, ALL, ONE_OF(SIGKILL)},
        {FILTER_AND, 3, ALL, ONE_OF(0)},
        {SYS_close, 0, ALL, NONE_OF(keyd)},
#ifdef SYS_dup2
        {SYS_dup2, 1, ALL, NONE_OF(keyd)},
#endif
        {SYS_dup3, 1, ALL, NONE_OF(keyd)},
        /* Not F_SETOWN: the kernel signals the owner of a descriptor, which may be any process of this user.
         */
        {SYS_fcntl, 1, ALL,
            ONE_OF(F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETLK, F_SETLKW,
                F_OFD_SETLK)},
        {SYS_ioctl, 1, ALL, ONE_OF(FIONREAD, FIONBIO, TIOCOUTQ, TCGETS, FIOCLEX)},
        {SYS_prctl, 0, ALL, ONE_OF(PR_SET_NAME, PR_GET_NAME, SET_VMA)},
        /* Limits of its own; 0 means itself */
        {SYS_prlimit64, 0, ALL, ONE_OF(0, self)},
    };
    const struct filter filter = {any_arguments, ARRAY_LEN(any_arguments), rows, ARRAY_LEN(rows),
        .matched = SECCOMP_RET_ALLOW, .otherwise = SECCOMP_RET_ERRNO | EPERM,
        .later = SECCOMP_RET_ERRNO | ENOSYS};
    return filter_install(&filter, detail);
}

enum err confine_listening(struct detail *detail)
{
    const uint32_t refused[] = {SYS_bind, SYS_listen, SYS_seccomp};
    const struct filter filter = {refused, ARRAY_LEN(refused), .matched = SECCOMP_RET_ERRNO | EPERM,
        .otherwise = SECCOMP_RET_ALLOW, .later = SECCOMP_RET_ALLOW};
    return filter_install(&filter, detail);
}
