/* The subcommands, one file each, and the options that they share. Each answers the exit code (sysexits.h; 0
 * done, 1 not met). */
#ifndef FAIRWAY_COMMANDS_H
#define FAIRWAY_COMMANDS_H

#include "base/config.h"

int cmd_serve(const struct config *config);
int cmd_ingest(const struct config *config);
int cmd_ensure_accounts(const struct config *config);
int cmd_accounts(const struct config *config);
int cmd_hold(const struct config *config);
int cmd_locks(const struct config *config);
int cmd_migrate(const struct config *config);
int cmd_keygen(const struct config *config);
int cmd_health(const struct config *config);
int cmd_inspect(int argc, char **argv); /* argv[0] is "inspect" */

/* The exit code for an error that ends a command, after logging it. */
int command_failed(enum err e, const struct detail *detail, const char *doing);

#endif
