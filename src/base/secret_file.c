/* Opens files that hold secrets, and refuses those that others may read. Their content is never judged. */
#include "base/secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

bool secret_file_is_open(const struct stat *status)
{
    mode_t forbidden = S_IRWXO | S_IRWXG;
    if (status->st_uid == 0)
        forbidden &= ~(mode_t)S_IRGRP; /* as containers mount secrets */
    return (status->st_mode & forbidden) != 0;
}

enum err secret_file_open(const char *variable, const char *path, int *fd, struct detail *detail)
{
    struct stat status;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (*fd < 0 || fstat(*fd, &status) != 0)
        return detail_set(detail, ERR_CONFIG, "%s: cannot read %s: %s", variable, path, strerror(errno));
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
        return detail_set(detail, ERR_CONFIG, "%s: %s is %s, not a file", variable, path,
            S_ISDIR(status.st_mode) ? "a directory" : "a device or socket");
    if (S_ISREG(status.st_mode) && status.st_size == 0)
        return detail_set(detail, ERR_CONFIG, "%s: %s is empty", variable, path);
    if (secret_file_is_open(&status))
        return detail_set(
            detail, ERR_CONFIG, "%s: %s is accessible to other users; set its mode to 0400", variable, path);
    return ERR_OK;
}

/* Reads to the end of the file. False when that is not reached within size bytes. */
static bool read_all(int fd, char *text, size_t size, size_t *len)
{
    ssize_t n;
    *len = 0;
    do {
        n = read(fd, text + *len, size - *len);
        if (n > 0)
            *len += (size_t)n;
    } while ((n > 0 && *len < size) || (n < 0 && errno == EINTR));
    return n == 0;
}

enum err secret_file_read(
    const char *variable, const char *path, size_t max, char **text, struct detail *detail)
{
    int fd = -1;
    size_t len = 0;
    *text = NULL;
    enum err e = secret_file_open(variable, path, &fd, detail);
    AUTO_FREE char *bytes = mem_new(max + 2, 1); /* a newline, and one byte to see that there is more */
    if (e == ERR_OK && (!read_all(fd, bytes, max + 2, &len) || memchr(bytes, '\0', len) != NULL))
        e = detail_set(detail, ERR_CONFIG, "%s: %s is longer than %zu bytes, or contains a NUL byte",
            variable, path, max);
    if (fd >= 0)
        close(fd);
    if (e == ERR_OK && len > 0 && bytes[len - 1] == '\n')
        bytes[--len] = '\0';
    if (e == ERR_OK)
        *text = mem_copy_text(bytes);
    return e;
}
