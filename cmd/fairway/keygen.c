/* keygen: writes a new master key, from the kernel's random numbers, to a file that only its owner can read.
 */
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
    if (path == NULL)
        return command_usage_error("keygen", "give the FILE to write");
    /* O_EXCL: an existing file may be the key that opens all sealed seeds */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (fd < 0)
        return fail(fd, path, "cannot create");
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return fail(fd, path, "cannot get random numbers for");
    ssize_t written = write(fd, key, sizeof key);
    explicit_bzero(key, sizeof key);
    if (written != (ssize_t)sizeof key || fsync(fd) != 0)
        return fail(fd, path, "cannot write");
    close(fd);
    return EX_OK;
}
