/* keygen: writes a new master key, or the secret seed of a client's new key, from the kernel's random
 * numbers, to a file that only its owner can read. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>

#include "auth/token_sign.h"
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

/* Writes to a file that must not exist yet: it may be the key that opens all sealed seeds. */
static int write_file(const char *path, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
    if (fd < 0)
        return fail(fd, path, "cannot create");
    if (write(fd, data, len) != (ssize_t)len || fsync(fd) != 0)
        return fail(fd, path, "cannot write");
    close(fd);
    return EX_OK;
}

static int write_master_key(const char *path)
{
    unsigned char key[MASTER_KEY_BYTES];
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return fail(-1, path, "cannot get random numbers for");
    int code = write_file(path, key, sizeof key);
    explicit_bzero(key, sizeof key);
    return code;
}

static int write_client_key(const char *path)
{
    char line[ADDRESS_SIZE + 1], address[ADDRESS_SIZE];
    token_key_new(line, address);
    line[ADDRESS_SIZE - 1] = '\n';
    int code = write_file(path, line, ADDRESS_SIZE);
    explicit_bzero(line, sizeof line);
    if (code != EX_OK || (puts(address) >= 0 && fflush(stdout) == 0))
        return code;
    fail(-1, path, "cannot print the public key of");
    unlink(path); /* nobody could use it */
    return EX_IOERR;
}

int cmd_keygen(const struct config *config)
{
    const char *path = config_argument(config, 0);
    if (path == NULL)
        return command_usage_error("keygen", "give the FILE to write");
    return config_is_on(config, "CLIENT") ? write_client_key(path) : write_master_key(path);
}
