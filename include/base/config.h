/*
 * Options. Each is an environment variable (DATABASE_URL) and, unless it is a secret, a flag of the same name
 * (--database-url X or --database-url=X), which overrides the variable. One table declares all options.
 */
#ifndef FAIRWAY_BASE_CONFIG_H
#define FAIRWAY_BASE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum config_kind {
    CONFIG_TEXT,
    CONFIG_NUMBER,
    CONFIG_SECRET,
    CONFIG_FLAG /* text, for one command; a flag without an environment variable */
};

struct config_option {
    const char *name; /* DATABASE_URL */
    enum config_kind kind;
    const char *fallback; /* NULL: none */
    const char *help;     /* with the unit */
    const char *alias;    /* another environment name, or NULL */
    uint64_t min, max;    /* of a number */
};

struct config;

/*
 * Reads flags and environment. What is not a flag is a positional argument. ERR_CONFIG: an unknown flag, a
 * missing value, a value that is not a number or out of range, or an option and its alias that differ; detail
 * names it. Values are copied.
 */
MUST_CHECK enum err config_load(const struct config_option options[], size_t option_count, int argc,
    char **argv, struct config **out, struct detail *detail);
void config_free(struct config *config);

/* The value or its default; NULL when there is neither. A name that is not in the table is a bug and aborts.
 */
const char *config_text(const struct config *config, const char *name);
uint64_t config_number(const struct config *config, const char *name); /* it must have a value or a default */
bool config_wants_help(const struct config *config);                   /* --help or -h */
size_t config_argument_count(const struct config *config);
const char *config_argument(const struct config *config, size_t i);

/* Prints the table for --help. */
void config_print(const struct config_option options[], size_t option_count, FILE *to);

#endif
