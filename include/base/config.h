/*
 * Options: each is an environment variable (DATABASE_URL) and, unless it may hold a secret, a flag of the
 * same name (--max-fee X or --max-fee=X), which overrides the variable. The caller's table declares them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum config_kind {
    CONFIG_TEXT,
    CONFIG_URL, /* text that may contain a password: no flag; also NAME_FILE; config_changes does not print it
                 */
    CONFIG_NUMBER,
    CONFIG_DURATION,    /* seconds, with up to three decimals, or milliseconds: 6, 0.6, 600ms */
    CONFIG_SWITCH,      /* on or off; yes, no, true, false, 1 and 0 are accepted too */
    CONFIG_SECRET,      /* an environment variable only; its value is not read here */
    CONFIG_FLAG,        /* text, without an environment variable: --reason "..." */
    CONFIG_FLAG_SWITCH, /* a switch, without an environment variable: --dry-run means --dry-run=on */
};

struct config_option {
    const char *name; /* DATABASE_URL */
    enum config_kind kind;
    const char *fallback; /* NULL: none */
    const char *help;     /* with the unit */
    uint64_t min, max;    /* of a number; of a duration in milliseconds */
};

struct config;

/*
 * Reads flags and environment. An empty variable counts as not set. Everything that is not a flag is a
 * positional argument. Values are copied; options must outlive *out, which the caller frees with config_free.
 * ERR_CONFIG: an unknown flag, a missing value, a number or a duration that is malformed or out of bounds, or
 * a switch that is neither on nor off; detail names the option. With --help, no value is checked.
 */
MUST_CHECK enum err config_load(const struct config_option options[], size_t option_count, int argc,
    char **argv, struct config **out, struct detail *detail);
void config_free(struct config *config); /* NULL is fine */

/* The value or its default; NULL when there is neither. A name that is not in the table is a bug and aborts.
 */
const char *config_text(const struct config *config, const char *name);
uint64_t config_number(const struct config *config, const char *name); /* it must have a value or a default */
uint64_t config_ms(const struct config *config, const char *name);     /* the same for a duration */
bool config_is_on(const struct config *config, const char *name);      /* a switch; off without a value */
bool config_knows(const struct config *config, const char *name); /* the table has it, and it is no secret */
bool config_is_given(const struct config *config, const char *name); /* by flag or environment */
bool config_wants_help(const struct config *config);                 /* --help or -h */
size_t config_argument_count(const struct config *config);
const char *config_argument(const struct config *config, size_t i); /* NULL when there is none */

/*
 * The option that an environment variable of this name was probably meant for: one letter is wrong, missing,
 * too many, or two are exchanged. NULL: none, or it is an option's variable, also NAME_FILE. Names of five
 * letters and less have too many neighbours; they are not compared.
 */
const char *config_likely(const struct config_option options[], size_t option_count, const char *variable);

/* "NAME=value NAME=value": the options whose values differ from their defaults, without secrets. The caller
 * frees the text. */
char *config_changes(const struct config *config);

/* Prints the table as --help shows it. */
void config_print(const struct config_option options[], size_t option_count, FILE *to);
