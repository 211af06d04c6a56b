/*
 * Rules of sandbox/filter.h, in processes of their own: which calls a table matches. lseek with a descriptor
 * that is not open stands for any call; its three arguments are free.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "filter.h"

enum {
    MATCHED = EDOM,
    OTHERWISE = EBADF, /* as without a filter */
    LATER = ERANGE,
    ALL = -1
};

/* Returns the errno of the call under the table's filter. */
static int errno_of(const struct filter_row *rows, size_t count, const long *call)
{
    int status;
#ifdef FAIRWAY_SANITIZED
    skip(); /* such a build installs no filters */
#endif
    const uint32_t calls[] = {SYS_sync};
    const struct filter filter = {calls, 1, rows, count, .matched = SECCOMP_RET_ERRNO | MATCHED,
        .otherwise = SECCOMP_RET_ALLOW, .later = SECCOMP_RET_ERRNO | LATER};
    pid_t pid = fork();
    if (pid == 0) {
        struct detail detail;
        errno = 0;
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_install(&filter, &detail) == ERR_OK)
            syscall(call[0], call[1], call[2], call[3]);
        _exit(errno);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static const struct filter_row rows[] = {
    {SYS_lseek, 1, 0xff, ONE_OF(1, 2, 3)},
    {FILTER_AND, 2, (uint32_t)ALL, ONE_OF(7)},
    {SYS_lseek, 1, (uint32_t)ALL, ONE_OF(4)},
    {SYS_lseek, 2, (uint32_t)ALL, NONE_OF(5, 6, 7)},
    {FILTER_AND, 1, 0xf0, ONE_OF(0x10)},
    {FILTER_AND, 0, (uint32_t)ALL, ONE_OF((uint32_t)-1)},
};

TEST(a_call_is_matched_when_a_group_of_rows_holds)
{
    const struct {
        long call[4];
        int expected;
    } cases[] = {
        {{SYS_lseek, -1, 1, 7}, MATCHED},
        {{SYS_lseek, -1, 2, 7}, MATCHED},
        {{SYS_lseek, -1, 3, 7}, MATCHED},
        {{SYS_lseek, -1, 0x303, 7}, MATCHED}, /* the mask */
        {{SYS_lseek, -1, 1, 8}, OTHERWISE},   /* the row after FILTER_AND */
        {{SYS_lseek, -1, 0, 7}, OTHERWISE},
        {{SYS_lseek, -1, 4, 8}, MATCHED}, /* the second group */
        {{SYS_lseek, -1, 0x104, 7}, OTHERWISE},
        {{SYS_lseek, -1, 0x1f, 8}, MATCHED}, /* the third */
        {{SYS_lseek, -1, 0x1f, 5}, OTHERWISE},
        {{SYS_lseek, -1, 0x1f, 6}, OTHERWISE},
        {{SYS_lseek, -1, 0x1f, 7}, OTHERWISE},
        {{SYS_lseek, -1, 0x2f, 8}, OTHERWISE},
        {{SYS_lseek, -2, 0x1f, 8}, OTHERWISE},
        {{SYS_fsync, -1, 1, 7}, OTHERWISE}, /* another call */
        {{SYS_sync, -1, 1, 7}, MATCHED},
        {{SYS_pidfd_send_signal, -1, 1, 7}, LATER}, /* the first call of Linux 5.1 */
        {{600, -1, 1, 7}, LATER},
#if defined(__x86_64__)
        {{0x40000000 + SYS_lseek, -1, 1, 7}, ENOSYS}, /* x32: not matched, and not a later one */
#endif
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const int e = errno_of(rows, ARRAY_LEN(rows), cases[i].call);
        if (e != cases[i].expected)
            fail_msg("case %zu: %d", i, e);
    }
}

TEST(a_table_without_rows_is_a_filter)
{
    assert_int_equal(errno_of(NULL, 0, (const long[]){SYS_lseek, -1, 1, 7}), OTHERWISE);
    assert_int_equal(errno_of(NULL, 0, (const long[]){SYS_sync, -1, 1, 7}), MATCHED);
}
