/* Reads a file of settings again when it has changed. What it says, its reader knows. */
#include "base/watched_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/secret_file.h"

static enum err unreadable(const struct watched_file *file, const char *why, struct detail *detail)
{
    return detail_set(detail, ERR_CONFIG, "%s: cannot read %s: %s", file->option, file->path, why);
}

/* Reads an open file, and its state before that: a change while it is read is seen later. */
static enum err read_open_file(struct watched_file *file, int fd, struct buf *out, struct detail *detail)
{
    ssize_t got = 0;
    if (fstat(fd, &file->read) != 0)
        return unreadable(file, strerror(errno), detail);
    if (!S_ISREG(file->read.st_mode))
        return unreadable(file, "it is not a regular file", detail);
    if ((file->read.st_mode & S_IWOTH) != 0)
        return detail_set(detail, ERR_CONFIG,
            "%s: every user of this host may change %s; set its mode to 0644", file->option, file->path);
    if (file->is_secret && secret_file_is_open(&file->read))
        return unreadable(file, "it is accessible to other users; set its mode to 0400", detail);
    buf_reserve(out, WATCHED_FILE_MAX + 1);
    while (out->len <= WATCHED_FILE_MAX &&
           (got = read(fd, out->data + out->len, WATCHED_FILE_MAX + 1 - out->len)) > 0)
        out->len += (size_t)got;
    if (got < 0)
        return unreadable(file, strerror(errno), detail);
    if (out->len > WATCHED_FILE_MAX)
        return detail_set(
            detail, ERR_CONFIG, "%s: %s is larger than %d bytes", file->option, file->path, WATCHED_FILE_MAX);
    return ERR_OK;
}

/* O_NONBLOCK: a FIFO must not stop the thread. */
enum err watched_file_read(struct watched_file *file, struct buf *out, struct detail *detail)
{
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    file->unread = fd < 0;
    if (fd < 0)
        return unreadable(file, strerror(errno), detail);
    enum err e = read_open_file(file, fd, out, detail);
    close(fd);
    return e;
}

/* The change time cannot be set, unlike the modification time. */
bool watched_file_changed(const struct watched_file *file)
{
    struct stat now;
    const struct stat *read = &file->read;
    if (file->path == NULL)
        return false;
    if (file->unread || stat(file->path, &now) != 0)
        return true;
    return now.st_ino != read->st_ino || now.st_dev != read->st_dev || now.st_size != read->st_size ||
           now.st_ctim.tv_sec != read->st_ctim.tv_sec || now.st_ctim.tv_nsec != read->st_ctim.tv_nsec;
}
