#include "confine_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "bpf.h"

#ifndef FAIRWAY_SANITIZED /* sanitizers start programs and attach to themselves */

/* The same on all machines; older headers lack them. */
enum {
    CALL_FCHMODAT2 = 452,
    CALL_SETXATTRAT = 463
};

/* fairway is large, and its libraries make other calls with each release: so this is a list of what is
 * denied, not of what is allowed. */
static const uint32_t denied[] = {
    /* other processes: their memory, their descriptors, their end */
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_getfd, SYS_kcmp, SYS_process_madvise,
    SYS_pidfd_send_signal, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_tkill, SYS_migrate_pages,
    SYS_move_pages, SYS_perf_event_open,
    /* programs */
    SYS_execve, SYS_execveat,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
    /* modes, owners and access lists of files, for example of the key files: Landlock does not guard them */
    SYS_fchmod, SYS_fchmodat, CALL_FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, CALL_SETXATTRAT,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown,
#endif
    /* namespaces and file systems */
    SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree,
    SYS_fsopen, SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_name_to_handle_at,
    SYS_open_by_handle_at, SYS_quotactl, SYS_swapon, SYS_swapoff,
    /* privileges, and the kernel itself */
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_setfsuid,
    SYS_setfsgid, SYS_setgroups, SYS_capset, SYS_personality, SYS_bpf, SYS_userfaultfd, SYS_keyctl,
    SYS_add_key, SYS_request_key, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_kexec_file_load, SYS_reboot, SYS_acct, SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,
    SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
    /* its operations bypass this filter */
    SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};

enum {
    X32_BIT = 0x40000000, /* of the numbers of x86-64's second set of calls */
    PTRACER = 0x59616d61  /* PR_SET_PTRACER of the Yama security module */
};

enum err confine_calls(pid_t keyd, struct confine_report *report, struct detail *detail)
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
    const uint32_t self = (uint32_t)getpid(), child = keyd > 0 ? (uint32_t)keyd : self;
    const struct sock_filter tail[] = {
        /* Threads, but no processes. The flags of clone3 are in memory, which a filter cannot read; the C
           library then calls clone. */
        SKIP_UNLESS(SYS_clone3, 1), FAIL(ENOSYS),                                                      //
        SKIP_UNLESS(SYS_clone, 4), LOAD_ARGUMENT(0), SKIP_IF_ANY(CLONE_THREAD, 1), FAIL(EPERM), ALLOW, //
        SKIP_UNLESS(SYS_prctl, 5), LOAD_ARGUMENT(0), SKIP_IF(PR_SET_DUMPABLE, 1), SKIP_UNLESS(PTRACER, 1),
        FAIL(EPERM), ALLOW,
        /* Signals to itself (abort) and to the key process (which it ends when that does not answer) */
        SKIP_IF(SYS_kill, 1), SKIP_UNLESS(SYS_tgkill, 5), LOAD_ARGUMENT(0), SKIP_IF(self, 2),
        SKIP_IF(child, 1), FAIL(EPERM), ALLOW,
        /* The kernel signals the owner of a descriptor, which may be any process of this user. */
        SKIP_UNLESS(SYS_fcntl, 5), LOAD_ARGUMENT(1), SKIP_IF(F_SETOWN, 1), SKIP_UNLESS(F_SETOWN_EX, 1),
        FAIL(EPERM), ALLOW,
        /* The same, and input to its terminal, for the shell that started it */
        SKIP_UNLESS(SYS_ioctl, 7), LOAD_ARGUMENT(1), SKIP_IF(FIOSETOWN, 3), SKIP_IF(SIOCSPGRP, 2),
        SKIP_IF(TIOCSTI, 1), SKIP_UNLESS(TIOCLINUX, 1), FAIL(EPERM), ALLOW,
        /* Limits of its own; 0 means itself */
        SKIP_UNLESS(SYS_prlimit64, 5), LOAD_ARGUMENT(0), SKIP_IF(0, 2), SKIP_IF(self, 1), FAIL(EPERM), ALLOW,
        ALLOW};
    struct sock_filter filter[ARRAY_LEN(head) + 2 * ARRAY_LEN(denied) + ARRAY_LEN(tail)];
    struct sock_filter *next = filter + ARRAY_LEN(head);
    memcpy(filter, head, sizeof head);
    for (size_t i = 0; i < ARRAY_LEN(denied); i++, next += 2)
        memcpy(next, (const struct sock_filter[]){SKIP_UNLESS(denied[i], 1), FAIL(EPERM)}, 2 * sizeof *next);
    memcpy(next, tail, sizeof tail);
    const struct sock_fprog program = {ARRAY_LEN(filter), filter};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return detail_set(detail, ERR_CONFIG, "system call filter: %s", strerror(errno));
    report->filter = true;
    return ERR_OK;
}

#else

enum err confine_calls(pid_t keyd, struct confine_report *report, struct detail *detail)
{
    (void)keyd, (void)detail;
    report->filter = false;
    return ERR_OK;
}

#endif
