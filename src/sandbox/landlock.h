/* Landlock (landlock(7)): restricts the calling thread, and all that it starts later. */
#pragma once

#include "base/err.h"

/* What a rule set denies unless a rule allows it; ORed. A kernel denies as much of it as its version can. */
enum landlock_denial {
    LANDLOCK_DENY_FILES = 1,
    LANDLOCK_DENY_TCP = 2,      /* bind and connect */
    LANDLOCK_DENY_ABSTRACT = 4, /* to connect to abstract UNIX sockets of other processes */
    LANDLOCK_DENY_SIGNALS = 8   /* to other processes */
};

/* The version that the kernel has; 0: none. */
int landlock_version(void);

/* Returns a rule set without rules as a descriptor, or -1 with errno set. version is landlock_version's. */
int landlock_rules(int version, unsigned denials);

/* Adds a rule: the file, or everything beneath the directory, may be read. What cannot be opened is left out.
 */
void landlock_allow_read(int rules, const char *path);

/* Restricts the calling thread by the rules, and closes them. Needs no new privileges (PR_SET_NO_NEW_PRIVS).
 * ERR_CONFIG: the kernel refuses. */
MUST_CHECK enum err landlock_restrict(int rules, struct detail *detail);
