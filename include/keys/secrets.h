/*
 * Secrets come from a file (VARIABLE_FILE) or an environment variable. The environment of a process is
 * readable in /proc/PID/environ as long as it lives, so the program writes the value to a pipe and executes
 * itself again without the variable.
 *
 *   master key            MASTER_KEY_FILE
 *   the one before it     OLD_MASTER_KEY_FILE
 *   passphrase            CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE, CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE_FILE
 *   distribution account  DISTRIBUTION_ACCOUNT_PRIVATE_KEY, DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE
 */
#pragma once

#include "base/secret_file.h"
#include "keys/keyd.h"

/*
 * To be called first in main, before any thread is started. Returns ERR_OK when the environment holds no
 * secret value; else executes the program again with the same arguments. ERR_CONFIG: both the value and the
 * file are given, the value is longer than PIPE_BUF, or a system call failed.
 */
MUST_CHECK enum err secrets_hide(char **argv, struct detail *detail);

/*
 * Opens the pipes of secrets_hide and the files, for keyd_start. A descriptor is -1 when its secret is not
 * given. ERR_CONFIG: secret_file_open (base/secret_file.h) refuses a file.
 */
MUST_CHECK enum err secrets_open(struct keyd_secrets *out, struct detail *detail);

struct secret_files secrets_files(void);

/* Moves standard input to a new descriptor for keyd_start, which alone reads it; this process has /dev/null
 * instead from then on. ERR_CONFIG: a system call failed. */
MUST_CHECK enum err secrets_take_input(int *fd, struct detail *detail);
