/*
 * DS7: what code that has taken fairway over can and cannot do, as root and as an ordinary user, who owns the
 * key file and runs a real key process. test_confine_calls.c has more deeds, docker/security.md the table.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "keys/secrets.h"
#include "sandbox/confine.h"
#include "sandbox/filter.h"
#include "support/captured.h"
#include "support/deeds.h"
#include "support/keyd.h"

/* What a deed uses, made before it is confined */
static struct {
    char folder[32], key_file[64], link[64], other_file[64], program[64], socket[64];
    int folder_fd, listener, terminal;
    struct keyd *keyd;
    pid_t victim; /* another process of the same user, which lets itself be debugged */
} world;

/* ---- deeds */

static int read_the_key_file_again(void)
{
    return result(open(world.key_file, O_RDONLY | O_CLOEXEC));
}

static int read_it_through_an_open_folder(void)
{
    return result(openat(world.folder_fd, "key", O_RDONLY | O_CLOEXEC));
}

static int read_it_through_proc(void)
{
    AUTO_FREE char *path = mem_format("/proc/self/root%s", world.key_file);
    return result(open(path, O_RDONLY | O_CLOEXEC));
}

static int read_a_copy_by_its_handle(void)
{
    union {
        struct file_handle handle;
        char space[sizeof(struct file_handle) + 128];
    } file = {.handle.handle_bytes = 128};
    int mount_id;
    if (name_to_handle_at(AT_FDCWD, world.key_file, &file.handle, &mount_id, 0) != 0)
        return errno;
    return result(open_by_handle_at(world.folder_fd, &file.handle, O_RDONLY | O_CLOEXEC));
}

static int read_another_file_of_its_user(void)
{
    return result(open(world.other_file, O_RDONLY | O_CLOEXEC));
}

static int look_at_the_key_file(void)
{
    struct stat status;
    return result(stat(world.key_file, &status));
}

static int debug_the_key_process(void)
{
    return result(ptrace(PTRACE_SEIZE, keyd_pid(world.keyd), NULL, NULL));
}

static int open_in_proc(pid_t pid, const char *file)
{
    AUTO_FREE char *path = mem_format("/proc/%d/%s", pid, file);
    return result(open(path, O_RDONLY | O_CLOEXEC));
}

static int open_the_memory_of_the_key_process(void)
{
    return open_in_proc(keyd_pid(world.keyd), "mem");
}

static int list_the_mappings_of_the_key_process(void)
{
    return open_in_proc(keyd_pid(world.keyd), "maps");
}

static int read_memory_of(pid_t pid)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)(uintptr_t)&world, 1};
    const ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
    return n < 0 && errno == EFAULT ? 0
                                    : result(n); /* the address is not mapped there, but it was looked up */
}

static int read_the_memory_of_the_key_process(void)
{
    return read_memory_of(keyd_pid(world.keyd));
}

static int take_a_descriptor_of(pid_t pid)
{
    int pidfd = pidfd_open(pid, 0);
    return pidfd < 0 ? errno : result(syscall(SYS_pidfd_getfd, pidfd, STDERR_FILENO, 0));
}

static int take_a_descriptor_of_the_key_process(void)
{
    return take_a_descriptor_of(keyd_pid(world.keyd));
}

static int debug_another_process(void)
{
    return result(ptrace(PTRACE_SEIZE, world.victim, NULL, NULL));
}

static int open_the_memory_of_another_process(void)
{
    return open_in_proc(world.victim, "mem");
}

static int read_the_memory_of_another_process(void)
{
    return read_memory_of(world.victim);
}

static int take_a_descriptor_of_another_process(void)
{
    return take_a_descriptor_of(world.victim);
}

static int have_another_process_signalled(void)
{
    return result(fcntl(world.listener, F_SETOWN, world.victim));
}

static int have_another_process_signalled_by_ioctl(void)
{
    return result(ioctl(world.listener, FIOSETOWN, &world.victim));
}

static int execute_a_program(void)
{
    char *const none[] = {NULL};
    execve("/bin/true", (char *const[]){"true", NULL}, none); /* ends with 0 */
    return errno;
}

static int start_a_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return result(pid);
}

static int create_a_file(void)
{
    AUTO_FREE char *path = mem_format("%s/created", world.folder);
    const int e = result(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    unlink(path);
    return e;
}

static int write_a_file(void)
{
    return result(open(world.other_file, O_WRONLY | O_CLOEXEC));
}

static int remove_the_key_file(void)
{
    AUTO_FREE char *path = mem_format("%s/removed", world.folder);
    const int e = result(rename(world.key_file, path));
    if (e == 0 && rename(path, world.key_file) != 0)
        return SETUP_FAILED;
    return e;
}

static int show_the_key_file_to_others(void)
{
    const int e = result(chmod(world.key_file, 0444));
    chmod(world.key_file, 0400);
    return e;
}

static int show_it_through_an_open_folder(void)
{
    const int e = result(fchmodat(world.folder_fd, "key", 0444, 0));
    chmod(world.key_file, 0400);
    return e;
}

static int list_a_folder(void)
{
    return result(open(world.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int let_itself_be_debugged(void)
{
    return result(prctl(PR_SET_DUMPABLE, 1));
}

static int use_a_capability(void)
{
    const int e = result(chown(world.other_file, 1, 1));
    return e == 0 ? result(chown(world.other_file, 0, 0)) : e;
}

static int read_a_kernel_key(void)
{
    return result(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -2, 1));
}

/* For the shell that started it, which reads it after fairway has ended. */
static int type_into_its_terminal(void)
{
    return result(ioctl(world.terminal, TIOCSTI, "x"));
}

static int call_by_the_numbers_of_x32(void)
{
    errno = 0;
    return syscall(0x40000000 + SYS_getpid) < 0 && errno != ENOSYS ? errno : 0;
}

/* ---- deeds that fairway needs */

static void *nothing(void *context)
{
    return context;
}

static int start_a_thread(void)
{
    pthread_t thread;
    int e = pthread_create(&thread, NULL, nothing, NULL);
    return e != 0 ? e : pthread_join(thread, NULL);
}

static int connect_to_tcp(void)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    if (getsockname(world.listener, (struct sockaddr *)&address, &size) != 0)
        return errno;
    return result(connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&address, size));
}

static int connect_to_a_unix_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", world.socket);
    return result(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, sizeof address));
}

static int resolve_a_name(void)
{
    struct addrinfo *found = NULL;
    const int e = getaddrinfo("localhost", "80", NULL, &found);
    freeaddrinfo(found);
    return e == 0 ? 0 : EIO;
}

static int read_certificates(void)
{
    return result(open("/etc/passwd", O_RDONLY | O_CLOEXEC)) +
           result(open("/usr/lib", O_RDONLY | O_DIRECTORY));
}

static int use_the_key_process(void)
{
    struct generated_key key;
    return keyd_generate(world.keyd, 1, &key) == ERR_OK ? 0 : EIO;
}

/* ---- the table */

static const struct deed deeds[] = {
    DEED(READ_KEYS, read_the_key_file_again, ALONE),
    DEED(READ_KEYS, read_it_through_an_open_folder, ALONE),
    DEED(READ_KEYS, read_it_through_proc, ALONE),
    DEED(READ_KEYS, read_a_copy_by_its_handle, 0),
    DEED(OTHER_FILES, read_another_file_of_its_user, ALONE),
    DEED(READ_KEYD, debug_the_key_process, 0),
    DEED(READ_KEYD, open_the_memory_of_the_key_process, 0),
    DEED(READ_KEYD, list_the_mappings_of_the_key_process, 0),
    DEED(READ_KEYD, read_the_memory_of_the_key_process, 0),
    DEED(READ_KEYD, take_a_descriptor_of_the_key_process, 0),
    DEED(OTHERS, debug_another_process, ALONE),
    DEED(OTHERS, open_the_memory_of_another_process, ALONE),
    DEED(OTHERS, read_the_memory_of_another_process, ALONE),
    DEED(OTHERS, take_a_descriptor_of_another_process, ALONE),
    DEED(OTHERS, have_another_process_signalled, ALONE),
    DEED(OTHERS, have_another_process_signalled_by_ioctl, ALONE),
    DEED(PROCESSES, execute_a_program, ALONE),
    DEED(PROCESSES, start_a_process, ALONE),
    DEED(WRITE_FILES, create_a_file, ALONE),
    DEED(WRITE_FILES, write_a_file, ALONE),
    DEED(WRITE_FILES, remove_the_key_file, ALONE),
    DEED(WRITE_FILES, show_the_key_file_to_others, ALONE),
    DEED(WRITE_FILES, show_it_through_an_open_folder, ALONE),
    DEED(OTHER_FILES, list_a_folder, ALONE),
    DEED(PRIVILEGES, let_itself_be_debugged, ALONE),
    DEED(PRIVILEGES, use_a_capability, 0),
    DEED(KERNEL, read_a_kernel_key, ALONE | MAYBE_MISSING),
    DEED(WRITE_FILES, type_into_its_terminal, ALONE | MAYBE_MISSING),
#if defined(__x86_64__)
    DEED(NUMBERS, call_by_the_numbers_of_x32, ALONE),
#endif
    DEED(THREADS, start_a_thread, ALONE | NEEDED),
    DEED(CONNECT, connect_to_tcp, ALONE | NEEDED),
    DEED(CONNECT, connect_to_a_unix_socket, ALONE | NEEDED),
    DEED(CONNECT, resolve_a_name, ALONE | NEEDED),
    DEED(READ_FILES, read_certificates, ALONE | NEEDED),
    DEED(LOOK, look_at_the_key_file, ALONE | NEEDED),
    DEED(USE_KEYS, use_the_key_process, ALONE | NEEDED),
};

/* ---- */

static enum err confine(const char *const files[], size_t count, int *landlock)
{
    struct detail detail = {0};
    const struct confine_settings settings = {.files = files,
        .file_count = count,
        .secrets = secrets_files(),
        .keyd_pidfd = world.keyd != NULL ? keyd_pidfd(world.keyd) : -1};
    confine_hide();
    enum err e = confine_enter(&settings, landlock, &detail);
    if (e != ERR_OK)
        print_message("%s\n", detail.text);
    return e;
}

static int do_it_confined(const void *deed)
{
    int landlock;
    return confine(NULL, 0, &landlock) != ERR_OK ? CONFINE_REFUSED : do_it(deed);
}

static int listen_on(int family, const void *address, socklen_t size)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(fd, address, size) == 0 && listen(fd, 8) == 0 ? fd : -1;
}

/* Makes the world as the user that runs this. */
static bool make_world(void)
{
    struct sockaddr_un unix_address = {.sun_family = AF_UNIX};
    const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int key = open(world.key_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);
    int other = open(world.other_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    snprintf(unix_address.sun_path, sizeof unix_address.sun_path, "%s", world.socket);
    if (key < 0 || write(key, "key", 3) != 3 || other < 0 || write(other, "other", 5) != 5)
        return false;
    close(key);
    close(other);
    world.folder_fd = open(world.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    world.listener = listen_on(AF_INET, &loopback, sizeof loopback);
    setenv("MASTER_KEY_FILE", world.key_file, 1);
    return world.folder_fd >= 0 && world.listener >= 0 &&
           listen_on(AF_UNIX, &unix_address, sizeof unix_address) >= 0;
}

/* Gives this process a session with a terminal, as a shell does. */
static bool open_terminal(void)
{
    const int other_end = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (setsid() < 0 || other_end < 0 || grantpt(other_end) != 0 || unlockpt(other_end) != 0)
        return false;
    world.terminal = open(ptsname(other_end), O_RDWR | O_CLOEXEC);
    return world.terminal >= 0;
}

/* The process that is fairway here: it starts the key process, then each deed runs in a child of it. */
static int run_table(const void *as_root)
{
    const bool is_root = *(const bool *)as_root;
    if (!open_terminal() || (!is_root && !become_ordinary()) || !make_world())
        return SETUP_FAILED;
    setenv("FAIRWAY_KEYD", world.program, 1);
    world.victim = start_victim(); /* first: it must not inherit the socket to the key process */
    world.keyd = keyd_loaded(KEYD_PROVISION);
    const unsigned wrong = check_deeds(deeds, ARRAY_LEN(deeds), is_root, do_it_confined);
    keyd_stop(world.keyd);
    kill(world.victim, SIGKILL);
    return (int)wrong;
}

static int set_up(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    snprintf(world.folder, sizeof world.folder, "/tmp/fairway-confine-XXXXXX");
    if (mkdtemp(world.folder) == NULL || chmod(world.folder, 0777) != 0)
        return -1;
    snprintf(world.key_file, sizeof world.key_file, "%s/key", world.folder);
    snprintf(world.link, sizeof world.link, "%s/link", world.folder);
    snprintf(world.other_file, sizeof world.other_file, "%s/other", world.folder);
    snprintf(world.socket, sizeof world.socket, "%s/socket", world.folder);
    snprintf(world.program, sizeof world.program, "%s/fairway-keyd", world.folder);
    return copy_keyd_program(world.program) ? 0 : -1;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = mem_format("rm -rf '%s'", world.folder);
    return system(command) == 0 ? 0 : -1;
}

TEST(DS7_as_root_a_confined_fairway_can_do_what_it_needs_and_no_more)
{
    table_holds(run_table, true);
}

TEST(DS7_as_the_owner_of_the_key_file_a_confined_fairway_can_do_what_it_needs_and_no_more)
{
    table_holds(run_table, false);
}

static int hold_no_capability(const void *unused)
{
    int landlock;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2] = {0}, none[2] = {0};
    if (confine(NULL, 0, &landlock) != ERR_OK || syscall(SYS_capget, &header, held) != 0)
        return CONFINE_REFUSED;
    return memcmp(held, none, sizeof none) != 0;
}

/* The filter of system calls refuses most of what a capability would allow, so the table does not show them.
 */
TEST(DS7_as_root_a_confined_fairway_holds_no_capability)
{
    if (geteuid() != 0)
        skip();
    assert_int_equal(apart(hold_no_capability, NULL), 0);
}

/* ---- other processes of its user */

static int reach_into_a_confined_process(const void *unused)
{
    int landlock;
    int ready[2];
    char byte;
    if (!become_ordinary() || pipe(ready) != 0)
        return SETUP_FAILED;
    pid_t open_one = start_victim(), confined = fork();
    if (confined == 0) {
        if (confine(NULL, 0, &landlock) != ERR_OK || write(ready[1], "x", 1) != 1)
            _exit(CONFINE_REFUSED);
        for (;;)
            pause();
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1)
        return CONFINE_REFUSED;
    int wrong = 0;
    int (*const reaches[])(void) = {open_the_memory_of_another_process, read_the_memory_of_another_process,
        take_a_descriptor_of_another_process, debug_another_process};
    for (size_t i = 0; i < ARRAY_LEN(reaches); i++) {
        world.victim = open_one;
        wrong += reaches[i]() != 0;
        world.victim = confined;
        wrong += !is_refusal(reaches[i]());
    }
    kill(open_one, SIGKILL);
    kill(confined, SIGKILL);
    return wrong;
}

TEST(DS7_another_process_of_its_user_cannot_take_its_socket_to_the_key_process)
{
    assert_int_equal(apart(reach_into_a_confined_process, NULL), 0);
}

/* ---- which files */

struct reading {
    const char *files[2];
    size_t count;
    bool reads_key, reads_other;
};

static int read_confined(const void *context)
{
    const struct reading *reading = context;
    int landlock;
    if (confine(reading->files, reading->count, &landlock) != ERR_OK)
        return CONFINE_REFUSED;
    if (landlock == 0)
        return 0;
    if ((read_the_key_file_again() == 0) != reading->reads_key)
        return 1;
    return (read_another_file_of_its_user() == 0) != reading->reads_other ? 2 : 0;
}

TEST(files_that_the_configuration_names_stay_readable_and_secrets_beside_them_do_not)
{
    const struct reading readings[] = {
        {{NULL}, 0, false, false},
        {{world.other_file}, 1, false, true},
        {{"/nonexistent", world.other_file}, 2, false, true},
        {{world.folder}, 1, false, true}, /* entry by entry: the key is beneath it */
        {{"/tmp"}, 1, false, true},
        {{"/"}, 1, false, true},
        {{world.key_file}, 1, false, false},
    };
    world.keyd = NULL;
    assert_true(make_world());
    for (size_t i = 0; i < ARRAY_LEN(readings); i++)
        if (apart(read_confined, &readings[i]) != 0)
            fail_msg("case %zu", i);
}

static int mount_twice_and_confine(const void *context)
{
    int landlock;
    AUTO_FREE char *second = mem_format("%s-again", world.folder);
    const char *const files[] = {second};
    if (mkdir(second, 0700) != 0 || mount(world.folder, second, NULL, MS_BIND, NULL) != 0)
        return SETUP_FAILED;
    const enum err e = confine(files, 1, &landlock);
    return landlock == 0 ? ERR_CONFIG : (int)e;
}

TEST(a_directory_that_shows_a_secret_under_another_name_is_refused)
{
    if (geteuid() != 0)
        skip(); /* an ordinary user cannot mount */
    world.keyd = NULL;
    assert_true(make_world());
    AUTO_FREE char *second = mem_format("%s-again", world.folder);
    const int e = apart(mount_twice_and_confine, NULL);
    umount2(second, MNT_DETACH);
    rmdir(second);
    assert_int_equal(e, ERR_CONFIG);
}

/* Kubernetes: link -> data/file, where data is a link that is switched to a new folder. */
static int read_a_switched_file(const void *context)
{
    int landlock;
    const char *const files[] = {world.link};
    if (confine(files, 1, &landlock) != ERR_OK)
        return CONFINE_REFUSED;
    /* the parent switches now: see below */
    char byte;
    if (read(STDIN_FILENO, &byte, 1) != 1)
        return SETUP_FAILED;
    return landlock == 0 ? 0 : result(open(world.link, O_RDONLY | O_CLOEXEC));
}

TEST(a_file_behind_a_link_may_be_replaced)
{
    int ends[2], status;
    AUTO_FREE char *made =
        mem_format("mkdir '%s/mount' && cd '%s/mount' && mkdir 1 && echo 1 >1/file && ln -s 1 data"
                   " && ln -s data/file link",
            world.folder, world.folder);
    AUTO_FREE char *switched =
        mem_format("cd '%s/mount' && mkdir 2 && echo 2 >2/file && ln -sfn 2 data && rm -r 1", world.folder);
    assert_int_equal(system(made), 0);
    snprintf(world.link, sizeof world.link, "%s/mount/link", world.folder);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        _exit(read_a_switched_file(NULL));
    }
    assert_int_equal(system(switched), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* As on a kernel without Landlock. */
static bool refuse_landlock(void)
{
    const uint32_t calls[] = {SYS_landlock_create_ruleset};
    const struct filter filter = {calls, 1, .matched = SECCOMP_RET_ERRNO | ENOSYS,
        .otherwise = SECCOMP_RET_ALLOW, .later = SECCOMP_RET_ALLOW};
    struct detail detail;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_install(&filter, &detail) == ERR_OK;
}

static int confine_without_landlock(const void *context)
{
    int landlock;
    world.victim = start_victim();
    if (!refuse_landlock() || confine(NULL, 0, &landlock) != ERR_OK || landlock != 0)
        return SETUP_FAILED;
    int (*const refused[])(void) = {read_the_memory_of_another_process, take_a_descriptor_of_another_process,
        debug_another_process, execute_a_program, start_a_process, let_itself_be_debugged, use_a_capability};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (!is_refusal(refused[i]()))
            return (int)i + 1;
    return read_the_key_file_again(); /* what the log warns of */
}

TEST(without_landlock_the_rest_stands)
{
#ifdef FAIRWAY_SANITIZED
    skip(); /* such a build filters no system calls */
#endif
    world.keyd = NULL;
    assert_true(make_world());
    assert_int_equal(apart(confine_without_landlock, NULL), 0);
}

static void *wait_for_ever(void *context)
{
    for (;;)
        pause();
    return context;
}

static int confine_with_two_threads(const void *context)
{
    pthread_t thread;
    int landlock;
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
        return SETUP_FAILED;
    return confine(NULL, 0, &landlock) == ERR_INTERNAL ? 0 : 1;
}

TEST(a_process_with_two_threads_is_not_confined)
{
#ifdef FAIRWAY_SANITIZED
    skip(); /* a sanitizer has threads of its own */
#endif
    assert_int_equal(apart(confine_with_two_threads, NULL), 0);
}

TEST_FIXTURE(set_up, tear_down)
