/*
 * Confines fairway itself, the process that reads the network. Code that takes it over can read no secret
 * file again, even as root or as the file's owner, cannot reach into the key process or any other
 * process, cannot start a program, make its memory executable, write a file, change its mode or gain a
 * privilege. It still has what fairway needs: its memory, its sockets, new connections, and the socket to the
 * key process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/secret_file.h"

struct confine_settings {
    /* Files and directories that are read later, besides those of the C library, TLS and name resolution
     * (src/sandbox/confine_parts.h). A path that does not exist is skipped. */
    const char *const *files;
    size_t file_count;
    struct secret_files secrets; /* what it must not read again */
    bool abstract_sockets;       /* may still be connected to: the configuration names one */
    int keyd_pidfd;              /* the process may still be killed by it; -1: no key process */
};

/* Forbids other processes of the same user to attach or to take descriptors (ptrace(2), pidfd_getfd(2)), and
 * core dumps. To be called before any secret is read; an execve undoes it. */
void confine_hide(void);

/*
 * To be called once, before a second thread starts and after the key process has started: by Landlock's rules
 * a process outside cannot be attached to. *landlock is its version; 0: this kernel has none, so files are
 * open. System calls are filtered, except in a build with sanitizers. ERR_CONFIG: the kernel refuses a part,
 * or a secret file can be read nevertheless. ERR_INTERNAL: there are more threads, which would stay outside.
 */
MUST_CHECK enum err confine_enter(
    const struct confine_settings *settings, int *landlock, struct detail *detail);

/* To be called when all listening sockets are open: from then on no thread can bind or listen. ERR_CONFIG:
 * the kernel refuses. */
MUST_CHECK enum err confine_listening(struct detail *detail);
