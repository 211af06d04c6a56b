/*
 * DS7: what a sandboxed process can do, and that every other system call kills it. Each case runs in a
 * process of its own that has entered the sandbox.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include <sodium.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/sandbox.h"

#define SURVIVED 0
#define NO_SANDBOX 99

static int sockets[2];

/* Returns the wait status of a process that enters the sandbox and calls deed(call). */
static int status_of(void (*deed)(const long *call), const long *call)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const int keep[] = {sockets[0]};
        struct detail detail;
        if (sandbox_prepare(keep, 1, &detail) != ERR_OK || sandbox_enter(sockets[0], &detail) != ERR_OK)
            _exit(NO_SANDBOX);
        deed(call);
        _exit(SURVIVED);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

#ifndef FAIRWAY_SANITIZED

static void make_call(const long *call)
{
    syscall(call[0], call[1], call[2], call[3], call[4], call[5], call[6]);
}

static bool killed(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

static bool is_allowed(long number)
{
    static const long allowed[] = {SYS_recvfrom, SYS_sendmsg, SYS_write, SYS_clock_gettime, SYS_getrandom,
        SYS_brk, SYS_mmap, SYS_munmap, SYS_exit_group};
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
        if (allowed[i] == number)
            return true;
    return false;
}

/* The kernel exempts its own uretprobe and uprobe calls from every filter; from other callers they do
 * nothing. */
static bool is_exempt(long number)
{
#if defined(__x86_64__)
    return number == 335 || number == 336;
#else
    return number < 0;
#endif
}

/* All system call numbers and some unused ones. None is executed. */
TEST(every_system_call_outside_the_list_kills)
{
    size_t let_through = 0;
    for (long number = 0; number < 600; number++)
        if (is_allowed(number))
            let_through++;
        else if (!is_exempt(number) && !killed(status_of(make_call, (const long[7]){number})))
            fail_msg("system call %ld", number);
    assert_int_equal(let_through, 9);
}

/* The calls that an attacker needs first, with valid arguments. */
TEST(execve_open_and_socket_kill)
{
    const long calls[][7] = {{SYS_openat, AT_FDCWD, (long)"/etc/passwd", O_RDONLY},
        {SYS_socket, AF_INET, SOCK_STREAM}, {SYS_socketpair, AF_UNIX, SOCK_STREAM}, {SYS_connect, sockets[0]},
        {SYS_clone, SIGCHLD}, {SYS_execve, (long)"/bin/sh"}, {SYS_kill, 1, SIGTERM}, {SYS_ptrace, 16, 1},
        {SYS_process_vm_readv, 1}, {SYS_mprotect, 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC}, {SYS_mremap},
        {SYS_memfd_create, (long)"x"}, {SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1}, {SYS_read, sockets[0]},
        {SYS_sendto, sockets[0]}, {SYS_recvmsg, sockets[0]}, {SYS_dup, 2}, {SYS_munlock}, {SYS_exit}};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (!killed(status_of(make_call, calls[i])))
            fail_msg("case %zu, system call %ld", i, calls[i][0]);
}

TEST(allowed_calls_kill_with_other_arguments)
{
    const long calls[][7] = {{SYS_recvfrom, sockets[0] + 1}, {SYS_recvfrom, STDERR_FILENO},
        {SYS_sendmsg, sockets[0] + 1}, {SYS_sendmsg, STDERR_FILENO}, {SYS_write, sockets[0]},
        {SYS_write, STDOUT_FILENO},
        {SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1},
        {SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, sockets[0]}};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (!killed(status_of(make_call, calls[i])))
            fail_msg("case %zu", i);
}

#if defined(__x86_64__)
/* A 32-bit system call through int 0x80, where 20 is getpid. */
static void call_as_32_bit(const long *call)
{
    long result = call[0];
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
}

TEST(system_calls_of_another_architecture_kill)
{
    int outside;
    pid_t pid = fork();
    if (pid == 0) {
        call_as_32_bit((const long[]){20});
        _exit(SURVIVED);
    }
    assert_int_equal(waitpid(pid, &outside, 0), pid);
    if (outside != 0)
        skip(); /* this kernel has no 32-bit calls */
    assert_true(killed(status_of(call_as_32_bit, (const long[]){20})));
    assert_true(killed(status_of(call_as_32_bit, (const long[]){SYS_write})));      /* exit of 32 bits */
    assert_true(killed(status_of(call_as_32_bit, (const long[]){SYS_exit_group}))); /* fgetxattr */
    assert_true(killed(status_of(make_call, (const long[7]){0x40000000 + SYS_getrandom}))); /* x32 */
}
#endif

#endif

/* ---- what is allowed */

static void works(void (*deed)(const long *call))
{
    int status = status_of(deed, NULL);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != SURVIVED)
        fail_msg("wait status %x", (unsigned)status);
}

static void answer(const long *call)
{
    char byte;
    struct iovec part = {"b", 1};
    const struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (recv(sockets[0], &byte, 1, 0) != 1 || byte != 'a' || sendmsg(sockets[0], &message, MSG_NOSIGNAL) != 1)
        _exit(1);
}

TEST(its_socket_works)
{
    char byte = 0;
    assert_int_equal(send(sockets[1], "a", 1, 0), 1);
    works(answer);
    assert_int_equal(recv(sockets[1], &byte, 1, 0), 1);
    assert_int_equal(byte, 'b');
}

static void compute(const long *call)
{
    uint8_t key[32], salt[crypto_pwhash_SALTBYTES], random[64];
    randombytes_buf(salt, sizeof salt);
    if (crypto_pwhash(key, sizeof key, "passphrase", 10, salt, crypto_pwhash_OPSLIMIT_MODERATE,
            crypto_pwhash_MEMLIMIT_MODERATE, crypto_pwhash_ALG_ARGON2ID13) != 0 ||
        getrandom(random, sizeof random, 0) != sizeof random)
        _exit(1);
}

TEST(keys_and_random_bytes_work)
{
    works(compute);
}

static void allocate(const long *call)
{
    for (int round = 0; round < 3; round++) {
        struct buf buf CLEANUP(buf_free) = {0}, other CLEANUP(buf_free) = {0};
        for (size_t size = 1; size < 64u << 20; size *= 2) {
            buf_reserve(&buf, size);
            memset(buf.data, 1, buf.cap);
            buf_reserve(&other, size / 3);
        }
    }
}

TEST(memory_of_all_sizes_works)
{
    works(allocate);
}

static void speak(const long *call)
{
    log_info("a line from the sandbox", "number=%d", 1);
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 ||
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) != 0) /* without the vDSO */
        _exit(1);
}

TEST(the_log_works)
{
    works(speak);
}

/* ---- Landlock and closed descriptors, without the filter */

static void reach_out(const long *call)
{
#ifdef FAIRWAY_SANITIZED /* no filter: Landlock denies */
    if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES)
        _exit(1);
#endif
    if (fcntl(sockets[1], F_GETFD) != -1) /* not kept */
        _exit(2);
}

TEST(Landlock_alone_denies_files)
{
#ifdef FAIRWAY_SANITIZED
    if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1u) < 1)
        skip();
    works(reach_out);
#else
    assert_true(killed(status_of(reach_out, NULL)));
#endif
}

static int set_up(void **state)
{
    return sodium_init() < 0 ? -1 : socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
}

GROUP_FIXTURE(set_up, NULL)
