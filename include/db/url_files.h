/* The files that libpq reads when it connects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define URL_FILES_MAX 10 /* of one URL */

/*
 * Returns how many files and directories url, the environment and a service file name: service files,
 * password files, certificates and keys. out gets their paths, which the caller frees. libpq's defaults in
 * the home directory are not among them. *is_abstract: they name a UNIX socket of the abstract namespace,
 * which has no file. Sets PGSERVICE for a moment: no other thread may run.
 */
size_t url_files(const char *url, char *out[static URL_FILES_MAX], bool *is_abstract);
