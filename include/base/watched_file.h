/* A file of settings, which is read again when it has changed. */
#pragma once

#include <sys/stat.h>

#include "base/bytes.h"
#include "base/err.h"

#define WATCHED_FILE_MAX (1 << 20)

struct watched_file {
    const char *option; /* the option that names it, for errors */
    char *path;         /* NULL: there is no file */
    bool is_secret;     /* others must not read it, as secret_file_open says */
    struct stat read;   /* when it was last opened */
    bool unread;        /* it could not be opened then */
};

/* Appends the file's text to *out. ERR_CONFIG: it cannot be read, is no regular file, every user may change
 * it, others may read a secret one, or it is larger than WATCHED_FILE_MAX. */
MUST_CHECK enum err watched_file_read(struct watched_file *file, struct buf *out, struct detail *detail);

/* Whether the file has changed since it was last read, or could not be read. */
bool watched_file_changed(const struct watched_file *file);
