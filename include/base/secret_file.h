/* A file with a secret, named by an environment variable. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"

/*
 * Opens the file for reading (close-on-exec). ERR_CONFIG: it cannot be read, is empty, is neither a file nor
 * a FIFO, or is accessible to others than its owner; detail names the variable. A file of root may be
 * readable by its group: containers mount secrets with mode 0440. *fd may be open after an error too.
 */
MUST_CHECK enum err secret_file_open(const char *variable, const char *path, int *fd, struct detail *detail);

/* Whether others than its owner can read it. */
bool secret_file_is_open(const struct stat *status);

/* Reads the whole file, without a final newline, as new text. ERR_CONFIG: as above, or it is longer than max
 * bytes, or has a NUL. */
MUST_CHECK enum err secret_file_read(
    const char *variable, const char *path, size_t max, char **text, struct detail *detail);

#define SECRET_FILES_MAX 4
/* The secrets that are files: variables and paths of the environment. */
struct secret_files {
    const char *variables[SECRET_FILES_MAX], *paths[SECRET_FILES_MAX];
    size_t count;
};
