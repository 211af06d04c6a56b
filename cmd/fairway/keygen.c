/* keygen: a new master key, straight from the kernel into a file that only its owner can read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>

#include "commands.h"

#define MASTER_KEY_BYTES 32

static int fail(int fd, const char *path, const char *what)
{
    fprintf(stderr, "fairway keygen: %s %s: %s\n", what, path, strerror(errno));
    if (fd >= 0) {
        unlink(path);
        close(fd);
    }
    return EX_CANTCREAT;
}

int cmd_keygen(const struct config *config)
{
    const char *path = config_argument(config, 0);
    unsigned char key[MASTER_KEY_BYTES];
    if (config_argument_count(config) != 1) {
        fprintf(stderr, "fairway keygen: give the one FILE to write\n");
        return EX_USAGE;
    }
    /* never over an existing file: it may be the key that all seeds are sealed with */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (fd < 0)
        return fail(fd, path, "cannot create");
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return fail(fd, path, "no randomness for");
    ssize_t written = write(fd, key, sizeof key);
    explicit_bzero(key, sizeof key);
    if (written != (ssize_t)sizeof key || fsync(fd) != 0)
        return fail(fd, path, "cannot write");
    close(fd);
    return EX_OK;
}
