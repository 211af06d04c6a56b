/* The subcommands, one source file each, and what they share: help, usage errors and exit codes. */
#pragma once

#include <stdio.h>

#include "base/config.h"

#define COMMAND_SYNOPSES 3

struct command {
    const char *name;
    unsigned options; /* its bit of enum option_reader */
    /* the lines of its usage, without "fairway NAME"; NULL: no more */
    const char *synopsis[COMMAND_SYNOPSES];
    const char *summary; /* a line of fairway --help */
    const char *help;
    size_t max_arguments;
    int (*run)(const struct config *config); /* returns the exit code */
};

/* NULL: there is no such command. */
const struct command *command_find(const char *name);

/* Prints the synopses of all commands, all options and the exit codes. */
void command_help_all(FILE *to);
/* Prints the help of one command and its options. */
void command_help(const struct command *command, FILE *to);

/* Prints what is wrong with the arguments, and the command's usage, to standard error. Returns EX_USAGE. */
int command_usage_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints text that others may have written, in UTF-8: no control character is sent to the terminal. */
void command_put(const char *text, size_t len);
/* The same, wrapped to a screen of 80 columns, and the end of the line; it begins in column indent. */
void command_print(int indent, const char *text);

/* Logs an error that ends a command; returns its exit code (sysexits.h). */
int command_failed(enum err e, const struct detail *detail, const char *message);

int cmd_serve(const struct config *config);
int cmd_ensure_accounts(const struct config *config);
int cmd_import_accounts(const struct config *config);
int cmd_rotate_master_key(const struct config *config);
int cmd_accounts(const struct config *config);
int cmd_check(const struct config *config);
int cmd_hold(const struct config *config);
int cmd_pause(const struct config *config);
int cmd_resume(const struct config *config);
int cmd_locks(const struct config *config);
int cmd_migrate(const struct config *config);
int cmd_keygen(const struct config *config);
int cmd_token(const struct config *config);
int cmd_health(const struct config *config);
int cmd_status(const struct config *config);
