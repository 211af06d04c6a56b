/*
 * The sandbox of the key process. After sandbox_enter it can read and write its socket, write its log,
 * allocate memory, get random bytes and exit. Any other system call kills it.
 */
#pragma once

#include "base/err.h"

/* To be called before any secret is read. Forbids core dumps, debuggers and new privileges, and closes all
 * descriptors except standard error and those in keep. */
MUST_CHECK enum err sandbox_prepare(const int keep[], unsigned count, struct detail *detail);

/* To be called before the first byte of input is read. ERR_CONFIG: the kernel refused a part of the sandbox.
 * A kernel without Landlock is accepted, and logged. */
MUST_CHECK enum err sandbox_enter(int socket_fd, struct detail *detail);
