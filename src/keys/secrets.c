/* Finds the secrets and hides them from the environment. They are passed on as descriptors; none is kept. */
#include "keys/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"

/* Passes the descriptors of the pipes, of passphrase and distribution seed, to the second execution. */
#define PIPES_VARIABLE "FAIRWAY_SECRET_PIPES"

static const struct source {
    const char *value, *file; /* environment variables; value is NULL when only a file is allowed */
} sources[KEYD_SECRETS] = {
    [SECRET_MASTER_KEY] = {NULL, "MASTER_KEY_FILE"},
    [SECRET_OLD_KEY] = {NULL, "OLD_MASTER_KEY_FILE"},
    [SECRET_PASSPHRASE] = {"CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE",
        "CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE_FILE"},
    [SECRET_DISTRIBUTION] = {"DISTRIBUTION_ACCOUNT_PRIVATE_KEY", "DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE"},
};
_Static_assert(KEYD_SECRETS - 1 == SECRET_FILES_MAX, "each secret but the seeds may be a file");

static const char *given(const char *variable)
{
    const char *value = variable != NULL ? getenv(variable) : NULL;
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Writes the value to a pipe, whose read end stays open across exec. */
static enum err into_pipe(const char *name, const char *value, int *fd, struct detail *detail)
{
    int ends[2];
    size_t len = strlen(value);
    if (len > PIPE_BUF)
        return detail_set(detail, ERR_CONFIG, "%s is longer than %d bytes", name, PIPE_BUF);
    if (pipe(ends) != 0)
        return detail_set(detail, ERR_CONFIG, "pipe: %s", strerror(errno));
    bool written = write(ends[1], value, len) == (ssize_t)len;
    close(ends[1]);
    *fd = ends[0];
    return written ? ERR_OK : detail_set(detail, ERR_CONFIG, "cannot write %s to a pipe", name);
}

enum err secrets_hide(char **argv, struct detail *detail)
{
    int pipes[KEYD_SECRETS] = {[SECRET_PASSPHRASE] = -1, [SECRET_DISTRIBUTION] = -1};
    bool found = false;
    for (size_t i = 0; i < KEYD_SECRETS; i++) {
        const char *value = given(sources[i].value);
        if (value == NULL)
            continue;
        if (given(sources[i].file) != NULL)
            return detail_set(
                detail, ERR_CONFIG, "give %s or %s, not both", sources[i].value, sources[i].file);
        enum err e = into_pipe(sources[i].value, value, &pipes[i], detail);
        if (e != ERR_OK)
            return e;
        unsetenv(sources[i].value);
        found = true;
    }
    if (!found)
        return ERR_OK;
    AUTO_FREE char *numbers = mem_format("%d %d", pipes[SECRET_PASSPHRASE], pipes[SECRET_DISTRIBUTION]);
    setenv(PIPES_VARIABLE, numbers, 1);
    execv("/proc/self/exe", argv);
    return detail_set(detail, ERR_CONFIG, "cannot execute fairway again: %s", strerror(errno));
}

struct secret_files secrets_files(void)
{
    struct secret_files files = {0};
    for (size_t i = 0; i < KEYD_SECRETS; i++)
        if (given(sources[i].file) != NULL) {
            files.variables[files.count] = sources[i].file;
            files.paths[files.count++] = given(sources[i].file);
        }
    return files;
}

enum err secrets_open(struct keyd_secrets *out, struct detail *detail)
{
    int *const fds = out->fd;
    enum err e = ERR_OK;
    const char *numbers = getenv(PIPES_VARIABLE);
    for (size_t i = 0; i < KEYD_SECRETS; i++)
        fds[i] = -1;
    if (numbers != NULL) {
        if (sscanf(numbers, "%d %d", &fds[SECRET_PASSPHRASE], &fds[SECRET_DISTRIBUTION]) != 2)
            return detail_set(detail, ERR_CONFIG, PIPES_VARIABLE " is set by fairway only");
        unsetenv(PIPES_VARIABLE);
        prctl(PR_SET_NAME, program_invocation_short_name); /* it became "exe" by execve of /proc/self/exe */
    }
    for (size_t i = 0; i < KEYD_SECRETS; i++) {
        if (fds[i] >= 0)
            fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        else if (e == ERR_OK && given(sources[i].file) != NULL)
            e = secret_file_open(sources[i].file, given(sources[i].file), &fds[i], detail);
    }
    for (size_t i = 0; e != ERR_OK && i < KEYD_SECRETS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return e;
}

enum err secrets_take_input(int *fd, struct detail *detail)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    *fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const bool moved = null >= 0 && *fd >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO;
    if (null >= 0)
        close(null);
    return moved ? ERR_OK : detail_set(detail, ERR_CONFIG, "cannot take standard input: %s", strerror(errno));
}
