/* Starts keyd and waits for its end. No message is sent or read here. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "keys/arguments.h"

/* Runs between fork and exec, where only async-signal-safe calls are allowed. */
static _Noreturn void become_keyd(
    const char *program, char *const argv[], int socket_fd, const struct keyd_secrets *secrets)
{
    static char *const no_environment[] = {NULL};
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* keyd also ends when its socket closes */
    fcntl(socket_fd, F_SETFD, 0);
    for (size_t i = 0; i < KEYD_SECRETS; i++)
        if (secrets->fd[i] > STDERR_FILENO)
            fcntl(secrets->fd[i], F_SETFD, 0);
    execve(program, argv, no_environment);
    _exit(EX_OSFILE);
}

static void close_secrets(const struct keyd_secrets *secrets)
{
    for (size_t i = 0; i < KEYD_SECRETS; i++)
        if (secrets->fd[i] > STDERR_FILENO)
            close(secrets->fd[i]);
}

enum err spawn_keyd(const char *program, enum keyd_mode mode, const struct keyd_settings *settings,
    const struct keyd_secrets *secrets, struct spawn_child *out, struct detail *detail)
{
    int pair[2];
    if (access(program, X_OK) != 0) {
        close_secrets(secrets);
        return detail_set(detail, ERR_CONFIG, "cannot execute %s: %s", program, strerror(errno));
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        close_secrets(secrets);
        return detail_set(detail, ERR_KEYD_UNAVAILABLE, "socketpair: %s", strerror(errno));
    }
    char line[ARGUMENTS_SIZE];
    arguments_write(&(struct arguments){mode, pair[1], *secrets, *settings, log_is_json()}, line);
    pid_t pid = fork();
    if (pid == 0)
        become_keyd(program, (char *[]){"fairway-keyd", line, NULL}, pair[1], secrets);
    close(pair[1]);
    close_secrets(secrets);
    if (pid < 0) {
        close(pair[0]);
        return detail_set(detail, ERR_KEYD_UNAVAILABLE, "fork: %s", strerror(errno));
    }
    *out = (struct spawn_child){.fd = pair[0], .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
    if (out->pidfd < 0) {
        close(out->fd);
        spawn_reap(out, 0);
        return detail_set(detail, ERR_KEYD_UNAVAILABLE, "pidfd_open: %s", strerror(errno));
    }
    return ERR_OK;
}

static bool ends_within(const struct spawn_child *child, int wait_ms)
{
    struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
    int ready;
    do
        ready = poll(&ended, 1, wait_ms);
    while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool spawn_ended(const struct spawn_child *child, int wait_ms, struct detail *detail)
{
    siginfo_t info = {0};
    if (!ends_within(child, wait_ms) ||
        waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
        return false;
    snprintf(detail->text, sizeof detail->text, info.si_code == CLD_EXITED ? "exit code %d" : "signal %d",
        info.si_status);
    return true;
}

void spawn_reap(struct spawn_child *child, int wait_ms)
{
    bool ends = true;
    if (child->pidfd < 0)
        kill(child->pid, SIGKILL); /* fairway is not confined yet */
    else if (!ends_within(child, wait_ms))
        ends = syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0) == 0;
    /* Where a filter around fairway refuses the call, it ends with fairway. */
    while (waitpid(child->pid, NULL, ends ? 0 : WNOHANG) < 0 && errno == EINTR)
        ;
    if (child->pidfd >= 0)
        close(child->pidfd);
}
