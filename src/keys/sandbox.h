/*
 * The walls around the key process. After sandbox_enter it can read and write its socket, write its log, get
 * memory and random bytes, and end; any other system call kills it.
 */
#ifndef FAIRWAY_KEYS_SANDBOX_H
#define FAIRWAY_KEYS_SANDBOX_H

#include "base/err.h"

/* Before any secret is read: no core dump, no debugger, no new privileges, only these descriptors stay open.
 */
MUST_CHECK enum err sandbox_prepare(const int keep[], unsigned count, struct detail *detail);

/* Before the first byte of input. ERR_CONFIG: a wall could not be raised. Landlock alone may be missing in
 * the kernel, which is logged. */
MUST_CHECK enum err sandbox_enter(int socket_fd, struct detail *detail);

#endif
