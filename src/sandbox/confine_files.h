/*
 * Which files a confined fairway may read: what the C library, OpenSSL, libcurl and libpq open late
 * (libraries, configuration, names, certificates), and what the caller names. Never a secret file: a
 * directory that has one beneath it is allowed entry by entry, without it.
 */
#ifndef FAIRWAY_SANDBOX_CONFINE_FILES_H
#define FAIRWAY_SANDBOX_CONFINE_FILES_H

#include "sandbox/confine.h"

/* Restricts the process by Landlock, and sets landlock, files and hidden of the report. ERR_CONFIG: the
 * kernel refuses, or a secret file can still be opened. */
MUST_CHECK enum err confine_files(
    const struct confine_settings *settings, struct confine_report *report, struct detail *detail);

#endif
