/*
 * Where secrets come from: a file (VARIABLE_FILE), or an environment variable. A value from the environment
 * would stay readable in /proc/PID/environ for as long as the process lives, so the program moves it to a
 * pipe and executes itself anew without it.
 *
 *   master key            MASTER_KEY_FILE
 *   passphrase            CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE, CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE_FILE
 *   distribution account  DISTRIBUTION_ACCOUNT_PRIVATE_KEY, DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE
 */
#ifndef FAIRWAY_KEYS_SECRETS_H
#define FAIRWAY_KEYS_SECRETS_H

#include "keys/keyd.h"

/*
 * First thing in main, before any thread: returns when no secret value is in the environment, else does not
 * return (the program runs again with the same arguments, and then it returns). ERR_CONFIG: both the value
 * and the file are given, or the value is too long.
 */
MUST_CHECK enum err secrets_hide(char **argv, struct detail *detail);

/*
 * Opens what secrets_hide left and the files, for keyd_start. A file that is open to others than its owner is
 * refused (ERR_CONFIG), but for one of root's that its group may read: so do containers mount secrets (mode
 * 0440). Each descriptor is -1 when its secret is not given.
 */
MUST_CHECK enum err secrets_open(struct keyd_secrets *out, struct detail *detail);

#endif
