/*
 * What code that has taken fairway over tries. Each deed of a table runs twice in a process of its own: as it
 * is, and confined. The first shows that the second is refused by the confinement. Root has every deed; an
 * ordinary user those that need no privilege.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ORDINARY_USER 65534

/* Exit codes of processes that run deeds, beside 0 and an errno. */
#define SETUP_FAILED 250
#define CONFINE_REFUSED 251

enum {
    ALONE = 1,         /* an ordinary user can do it when it is not confined; root can do everything */
    NEEDED = 2,        /* still works in a confined fairway */
    MAYBE_MISSING = 4, /* some kernels do not have it at all, and in a chroot there are no user namespaces */
    STARTED = 8,       /* after fairway has opened its listeners */
    LANDLOCK_6 = 16    /* only such kernels refuse it */
};

struct deed {
    const char *name;
    int (*run)(void); /* returns 0, or the errno of the call that refused */
    unsigned traits;
};

/* The row is that of the table in docker/security.md; tests/lint/readme.test.mjs compares them. */
#define DEED(row, function, traits)                                                                          \
    {                                                                                                        \
#function, function, traits                                                                          \
    }

/* 0, or errno when value is negative. */
int result(long value);
/* Returns the exit code of a process that runs this, or 256 + the signal that ended it. */
int apart(int (*work)(const void *context), const void *context);
/* Runs the deed in this process. */
int do_it(const void *deed);
/* Whether an errno, or an exit code of apart(), says that the confinement has refused. */
bool is_refusal(int e);
/* Returns how many deeds are not as their traits say; do_it_confined confines the process and runs the deed.
 */
unsigned check_deeds(
    const struct deed *deeds, size_t count, bool is_root, int (*do_it_confined)(const void *deed));

/* Asserts that run_table, which takes a pointer to as_root, returns 0 in a process of its own. Skips the test
 * where it cannot run. */
void table_holds(int (*run_table)(const void *as_root), bool as_root);

/* A process of the same user, which lets itself be debugged and ends with this one. */
pid_t start_victim(void);
/* As root, this process becomes one of an ordinary user. */
bool become_ordinary(void);
/* Copies the key process's program to where an ordinary user can execute it. */
bool copy_keyd_program(const char *path);
