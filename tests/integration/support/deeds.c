#include "deeds.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "keyd.h"

int result(long value)
{
    return value < 0 ? errno : 0;
}

int apart(int (*work)(const void *context), const void *context)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(work(context));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

int do_it(const void *deed)
{
    return ((const struct deed *)deed)->run();
}

bool is_refusal(int e)
{
    return e == EACCES || e == EPERM || e == ESRCH || e == ENOSYS || e == 256 + SIGSYS;
}

static unsigned check_deed(const struct deed *deed, bool is_root, int (*do_it_confined)(const void *deed))
{
    const int alone = apart(do_it, deed), confined = apart(do_it_confined, deed);
    const bool possible = is_root || (deed->traits & ALONE) != 0;
    const bool missing = (deed->traits & MAYBE_MISSING) != 0 && alone != 0;
    if (possible && !missing && alone != 0) {
        print_error("%s fails unconfined: %s\n", deed->name, strerror(alone));
        return 1;
    }
    if ((deed->traits & NEEDED) != 0 ? confined != 0 : !is_refusal(confined)) {
        print_error("%s, confined: %d (%s)\n", deed->name, confined, strerror(confined));
        return 1;
    }
    return 0;
}

unsigned check_deeds(
    const struct deed *deeds, size_t count, bool is_root, int (*do_it_confined)(const void *deed))
{
    unsigned wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += check_deed(&deeds[i], is_root, do_it_confined);
    return wrong;
}

void table_holds(int (*run_table)(const void *as_root), bool as_root)
{
#ifdef FAIRWAY_SANITIZED
    (void)run_table, (void)as_root;
    skip(); /* such a build filters no system calls */
#else
    if (as_root && geteuid() != 0)
        skip();
    assert_int_equal(apart(run_table, &as_root), 0);
#endif
}

pid_t start_victim(void)
{
    const pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_DUMPABLE, 1);  /* setuid has cleared it */
        while (getppid() == parent) /* it may have ended before the first call */
            pause();
        _exit(0);
    }
    return pid;
}

bool become_ordinary(void)
{
    if (geteuid() == 0 &&
        (setgroups(0, NULL) != 0 || setresgid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) != 0 ||
            setresuid(ORDINARY_USER, ORDINARY_USER, ORDINARY_USER) != 0))
        return false;
    return prctl(PR_SET_DUMPABLE, 1) == 0; /* setuid has cleared it */
}

bool copy_keyd_program(const char *path)
{
    AUTO_FREE char *command = mem_format("cp '%s' '%s' && chmod 755 '%s'", keyd_program(), path, path);
    return system(command) == 0;
}
