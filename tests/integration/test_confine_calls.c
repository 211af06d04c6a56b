/*
 * DS7: the system calls that code which has taken fairway over tries: what they reach outside a confined
 * process, with a real key process beside it, and what in it. test_confine.c has the files.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "sandbox/confine.h"
#include "support/captured.h"
#include "support/deeds.h"
#include "support/keyd.h"

static struct {
    struct keyd *keyd;
    pid_t victim; /* another process of the same user */
    int victim_pidfd;
    int condemned_pidfd; /* of a third one, which a deed ends */
    int passed;          /* a file in memory that it can write */
    struct sockaddr_un abstract;
    socklen_t abstract_size;
    char program[64];
} world;

/* For calls without valid arguments: an error about those shows that the call was not refused. */
static int reached(long value)
{
    const int e = result(value);
    return e == EINVAL || e == EFAULT || e == EBADF || e == ENOENT ? 0 : e;
}

/* ---- the key process and others */

static pid_t keyd(void)
{
    return keyd_pid(world.keyd);
}

static int stop_the_key_process(void)
{
    return result(kill(keyd(), SIGCONT));
}

static int stop_a_thread_of_the_key_process(void)
{
    return result(syscall(SYS_tgkill, keyd(), keyd(), SIGCONT));
}

static int stop_the_key_process_by_the_descriptor_of_fairway(void)
{
    return result(syscall(SYS_pidfd_send_signal, keyd_pidfd(world.keyd), SIGCONT, NULL, 0));
}

/* Unknown flags: known ones would end the group of this test. */
static int end_the_group_of_the_key_process(void)
{
    return reached(syscall(SYS_pidfd_send_signal, keyd_pidfd(world.keyd), SIGKILL, NULL, 1u << 30));
}

static int limit_the_key_process(void)
{
    return result(prlimit(keyd(), RLIMIT_NPROC, &(struct rlimit){0, 0}, NULL));
}

static int end_the_key_process(void)
{
    return result(syscall(SYS_pidfd_send_signal, keyd_pidfd(world.keyd), SIGKILL, NULL, 0));
}

/* When the key process has ended, its number may be that of another process. */
static int end_what_has_the_number_of_the_key_process(void)
{
    return result(kill(keyd(), SIGKILL));
}

static int end_another_process_by_an_open_descriptor(void)
{
    return result(syscall(SYS_pidfd_send_signal, world.condemned_pidfd, SIGKILL, NULL, 0));
}

/* Another process's descriptor would then be the one that may be used. */
static int replace_the_descriptor_of_the_key_process(void)
{
    return result(dup3(world.victim_pidfd, keyd_pidfd(world.keyd), O_CLOEXEC));
}

#ifdef SYS_dup2
static int replace_it_by_dup2(void)
{
    return result(syscall(SYS_dup2, world.victim_pidfd, keyd_pidfd(world.keyd)));
}
#endif

static int close_the_descriptor_of_the_key_process(void)
{
    return result(close(keyd_pidfd(world.keyd)));
}

static int open_another_process(void)
{
    return result(pidfd_open(world.victim, 0));
}

/* ---- processes, namespaces, memory */

static int make_a_namespace_by_clone(void)
{
    const long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return result(pid);
}

static int map_executable_memory(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno
                                                                                                     : 0;
}

static int map_a_file_to_write_and_execute(void)
{
    const int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? errno : 0;
}

/* Another process may have passed it the descriptor, and written to the file. */
static int map_shared_memory_to_execute(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, world.passed, 0) == MAP_FAILED ? errno : 0;
}

static int map_shared_memory_to_execute_by_the_new_flag(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED_VALIDATE, world.passed, 0) == MAP_FAILED ? errno
                                                                                                       : 0;
}

static int make_shared_memory_executable(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, world.passed, 0);
    return result(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
}

static int make_memory_executable(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return result(mprotect(memory, 4096, PROT_READ | PROT_EXEC));
}

#if defined(__x86_64__)
static int call_by_the_numbers_of_i386(void)
{
    long number = 20; /* getpid */
    __asm__ volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
    return number > 0 ? 0 : ENOSYS;
}
#endif

static int map_a_library(void)
{
    const int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? errno : 0;
}

/* ---- sockets */

static int open_socket(int domain, int type, int protocol)
{
    return result(socket(domain, type | SOCK_CLOEXEC, protocol));
}

static int talk_to_the_hypervisor(void)
{
    return open_socket(AF_VSOCK, SOCK_STREAM, 0);
}

static int hear_events_of_the_kernel(void)
{
    return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
}

static int capture_packets(void)
{
    return open_socket(AF_PACKET, SOCK_RAW, 0);
}

static int send_raw_packets(void)
{
    return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int ping(void)
{
    return open_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
}

static int connect_to_an_abstract_socket(void)
{
    return result(connect(
        socket(AF_UNIX, SOCK_STREAM, 0), (const struct sockaddr *)&world.abstract, world.abstract_size));
}

static int read_the_interfaces(void)
{
    return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
}

static int use_udp(void)
{
    return open_socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
}

static int bind_a_port(void)
{
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return result(bind(socket(AF_INET, SOCK_STREAM, 0), (const struct sockaddr *)&any, sizeof any));
}

static int listen_without_binding(void)
{
    return result(listen(socket(AF_INET, SOCK_STREAM, 0), 1));
}

/* ---- the table */

static const struct deed deeds[] = {
    DEED(HARM_KEYD, stop_the_key_process, ALONE),
    DEED(HARM_KEYD, stop_a_thread_of_the_key_process, ALONE),
    DEED(HARM_KEYD, limit_the_key_process, ALONE),
    DEED(HARM_KEYD, stop_the_key_process_by_the_descriptor_of_fairway, ALONE),
    DEED(END_KEYD, end_the_key_process, ALONE | NEEDED),
    /* It has ended now. */
    DEED(OTHERS, end_what_has_the_number_of_the_key_process, ALONE),
    DEED(OTHERS, end_the_group_of_the_key_process, ALONE),
    DEED(OTHERS, end_another_process_by_an_open_descriptor, ALONE),
    DEED(OTHERS, replace_the_descriptor_of_the_key_process, ALONE),
#ifdef SYS_dup2
    DEED(OTHERS, replace_it_by_dup2, ALONE),
#endif
    DEED(OTHERS, close_the_descriptor_of_the_key_process, ALONE),
    DEED(OTHERS, open_another_process, ALONE),
    DEED(PRIVILEGES, make_a_namespace_by_clone, ALONE | MAYBE_MISSING),
    DEED(EXECUTE, map_executable_memory, ALONE),
    DEED(EXECUTE, map_a_file_to_write_and_execute, ALONE),
    DEED(EXECUTE, make_memory_executable, ALONE),
    DEED(EXECUTE, map_shared_memory_to_execute, ALONE),
    DEED(EXECUTE, map_shared_memory_to_execute_by_the_new_flag, ALONE),
    DEED(EXECUTE, make_shared_memory_executable, ALONE),
#if defined(__x86_64__)
    DEED(NUMBERS, call_by_the_numbers_of_i386, ALONE | MAYBE_MISSING),
#endif
    DEED(THREADS, map_a_library, ALONE | NEEDED),
    DEED(OTHER_SOCKETS, talk_to_the_hypervisor, ALONE | MAYBE_MISSING),
    DEED(OTHER_SOCKETS, hear_events_of_the_kernel, ALONE),
    DEED(OTHER_SOCKETS, capture_packets, MAYBE_MISSING),
    DEED(OTHER_SOCKETS, send_raw_packets, 0),
    DEED(OTHER_SOCKETS, ping, MAYBE_MISSING),
    DEED(ABSTRACT, connect_to_an_abstract_socket, ALONE | LANDLOCK_6),
    DEED(CONNECT, read_the_interfaces, ALONE | NEEDED),
    DEED(CONNECT, use_udp, ALONE | NEEDED),
    DEED(CONNECT, bind_a_port, ALONE | NEEDED), /* as at its start */
    DEED(LISTEN, bind_a_port, ALONE | STARTED),
    DEED(LISTEN, listen_without_binding, ALONE | STARTED),
};

/* Calls that fairway makes with no arguments whatever; these here are invalid. */
static const long never[] = {SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_execve,
    SYS_execveat, SYS_unshare, SYS_setns, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_bpf,
    SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_get_robust_list,
    SYS_kcmp, SYS_process_madvise, SYS_migrate_pages, SYS_move_pages, SYS_mbind, SYS_set_mempolicy,
    SYS_clone3, SYS_personality, SYS_memfd_create, SYS_close_range, SYS_setuid, SYS_setgid, SYS_setreuid,
    SYS_setregid, SYS_setresuid, SYS_setresgid, SYS_capset, SYS_setpgid, SYS_setsid, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_acct,
    SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_sethostname, SYS_vhangup, SYS_swapon,
    SYS_quotactl, SYS_setpriority, SYS_sched_setscheduler, SYS_sched_setaffinity, SYS_sched_setattr,
    SYS_ioprio_set, SYS_ioprio_get, SYS_shmget, SYS_shmat, SYS_msgget, SYS_msgsnd, SYS_semget, SYS_mq_open,
    SYS_timer_create, SYS_setitimer, SYS_inotify_init1, SYS_fanotify_init, SYS_splice, SYS_truncate,
    SYS_ftruncate, SYS_fallocate, SYS_mkdirat, SYS_mknodat, SYS_unlinkat, SYS_symlinkat, SYS_linkat,
    SYS_renameat2, SYS_fchmod, SYS_fchmodat, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_chdir, SYS_fchdir,
    SYS_chroot, SYS_mlockall, SYS_munlockall, SYS_remap_file_pages, SYS_pkey_mprotect,
    SYS_landlock_create_ruleset, SYS_landlock_restrict_self, SYS_openat2};

static int make_calls_that_it_never_makes(const void *unused)
{
    int landlock;
    struct detail detail;
    if (confine_enter(&(struct confine_settings){.keyd_pidfd = -1}, &landlock, &detail) != ERR_OK)
        return CONFINE_REFUSED;
    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        errno = 0;
        if (syscall(never[i], -1L, -1L, -1L, -1L, -1L, -1L) != -1 || (errno != EPERM && errno != ENOSYS)) {
            print_error("system call %ld: %s\n", never[i], strerror(errno));
            return 1;
        }
    }
    return 0;
}

static int do_it_confined(const void *context)
{
    const struct deed *deed = context;
    int landlock;
    struct detail detail;
    if (confine_enter(&(struct confine_settings){.keyd_pidfd = keyd_pidfd(world.keyd)}, &landlock, &detail) !=
            ERR_OK ||
        ((deed->traits & STARTED) != 0 && confine_listening(&detail) != ERR_OK))
        return CONFINE_REFUSED;
    if ((deed->traits & LANDLOCK_6) != 0 && landlock < 6)
        return EPERM;
    return deed->run();
}

static bool listen_abstract(void)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    world.abstract = (struct sockaddr_un){.sun_family = AF_UNIX};
    world.abstract_size = sizeof(sa_family_t); /* the kernel chooses a name (unix(7), autobind) */
    if (bind(fd, (const struct sockaddr *)&world.abstract, world.abstract_size) != 0 || listen(fd, 8) != 0)
        return false;
    world.abstract_size = sizeof world.abstract;
    return getsockname(fd, (struct sockaddr *)&world.abstract, &world.abstract_size) == 0;
}

/* The process that is fairway here, in a group of its own. */
static int run_table(const void *as_root)
{
    const bool is_root = *(const bool *)as_root;
    if (setpgid(0, 0) != 0 || (!is_root && !become_ordinary()) || !listen_abstract())
        return SETUP_FAILED;
    setenv("FAIRWAY_KEYD", world.program, 1);
    world.victim = start_victim(); /* first: it must not inherit the socket to the key process */
    world.victim_pidfd = pidfd_open(world.victim, 0);
    world.condemned_pidfd = pidfd_open(start_victim(), 0);
    world.passed = (int)syscall(SYS_memfd_create, "passed", 0u);
    if (ftruncate(world.passed, 4096) != 0)
        return SETUP_FAILED;
    world.keyd = keyd_loaded(KEYD_SERVE);
    const unsigned wrong = check_deeds(deeds, ARRAY_LEN(deeds), is_root, do_it_confined);
    keyd_stop(world.keyd);
    kill(world.victim, SIGKILL);
    return (int)wrong;
}

/* Who is scheduled otherwise may not set SCHED_OTHER, confined or not. */
static void skip_unless_scheduled_as_usual(void)
{
    if (sched_getscheduler(0) != SCHED_OTHER)
        skip();
}

TEST(DS7_as_root_a_confined_fairway_makes_only_the_calls_that_it_needs)
{
    skip_unless_scheduled_as_usual();
    table_holds(run_table, true);
}

TEST(DS7_as_an_ordinary_user_a_confined_fairway_makes_only_the_calls_that_it_needs)
{
    skip_unless_scheduled_as_usual();
    table_holds(run_table, false);
}

static int stop_a_key_process_that_hangs(const void *unused)
{
    int landlock;
    struct detail detail;
    struct keyd *keyd = keyd_loaded(KEYD_SERVE);
    const pid_t pid = keyd_pid(keyd);
    if (kill(pid, SIGSTOP) != 0 || confine_enter(&(struct confine_settings){.keyd_pidfd = keyd_pidfd(keyd)},
                                       &landlock, &detail) != ERR_OK)
        return CONFINE_REFUSED;
    keyd_stop(keyd);
    return waitpid(pid, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : 1; /* it was waited for */
}

TEST(a_confined_fairway_ends_a_key_process_that_hangs)
{
    assert_int_equal(apart(stop_a_key_process_that_hangs, NULL), 0);
}

TEST(DS7_calls_that_fairway_never_makes_are_refused)
{
#ifdef FAIRWAY_SANITIZED
    skip();
#endif
    assert_int_equal(apart(make_calls_that_it_never_makes, NULL), 0);
}

static int connect_where_an_option_names_an_abstract_socket(const void *unused)
{
    int landlock;
    struct detail detail;
    if (confine_enter(&(struct confine_settings){.abstract_sockets = true, .keyd_pidfd = -1}, &landlock,
            &detail) != ERR_OK)
        return CONFINE_REFUSED;
    return connect_to_an_abstract_socket();
}

TEST(an_abstract_socket_that_an_option_names_stays_reachable)
{
    assert_true(listen_abstract());
    assert_int_equal(apart(connect_where_an_option_names_an_abstract_socket, NULL), 0);
}

/* A copy of the key process that an ordinary user can execute. */
static int set_up(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    snprintf(world.program, sizeof world.program, "/tmp/fairway-confine-calls-%d", (int)getpid());
    return copy_keyd_program(world.program) ? 0 : -1;
}

static int tear_down(void **state)
{
    return unlink(world.program);
}

GROUP_FIXTURE(set_up, tear_down)
