/* Rules of base/invariant.h: a broken invariant is logged and ends the process, one that holds does nothing.
 */
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/invariant.h"

/* Returns the wait status of a process that states 1 < top; its log is in text. */
static int status_of(int top, char text[static 512])
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL); /* cmocka catches it */
        dup2(ends[1], STDERR_FILENO);
        INVARIANT(1 < top);
        _exit(0);
    }
    close(ends[1]);
    const ssize_t len = read(ends[0], text, 511);
    text[len < 0 ? 0 : len] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

TEST(a_broken_invariant_is_logged_and_ends_the_process)
{
    char text[512];
    const int status = status_of(1, text);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "level=error msg=\"stopping: a bug"));
    assert_non_null(strstr(text, "at=tests/unit/base/test_invariant.c:"));
    assert_non_null(strstr(text, "condition=\"1 < top\"\n"));
}

TEST(one_that_holds_does_nothing)
{
    char text[512];
    assert_int_equal(status_of(2, text), 0);
    assert_string_equal(text, "");
}
