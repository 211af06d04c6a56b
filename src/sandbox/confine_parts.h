/* The two parts of confine_enter. */
#pragma once

#include "sandbox/confine.h"

/*
 * Which files a confined fairway may read: what the C library, OpenSSL, libcurl and libpq open late
 * (libraries, configuration, names, certificates), and what the caller names. Never a secret file: a
 * directory that has one beneath it is allowed entry by entry, without it.
 *
 * Restricts the process by Landlock, whose version becomes *landlock (0: none). ERR_CONFIG: the kernel
 * refuses, or a secret file can still be opened.
 */
MUST_CHECK enum err confine_files(
    const struct confine_settings *settings, int *landlock, struct detail *detail);

/* Installs the filter for the calling thread and all that it starts. From then on keyd_pidfd cannot be closed
 * or replaced. ERR_CONFIG: the kernel refuses. */
MUST_CHECK enum err confine_calls(int keyd_pidfd, struct detail *detail);
