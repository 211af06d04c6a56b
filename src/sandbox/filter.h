/*
 * System call filters (seccomp(2)) as tables. A call is matched when it is in calls, or when a group of rows
 * holds for it: a row of its number, and the rows of FILTER_AND right after that one. Several groups may have
 * one number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define FILTER_AND UINT32_MAX

struct filter_row {
    uint32_t call;
    unsigned argument;      /* its index. The low half is compared, which is all of an int */
    uint32_t mask;          /* bits of it that count */
    const uint32_t *values; /* it must be one of them, */
    uint8_t count;
    bool except; /* or none of them */
};

/* The values of a row. */
#define ONE_OF(...) FILTER_VALUES(__VA_ARGS__), false
#define NONE_OF(...) FILTER_VALUES(__VA_ARGS__), true
#define FILTER_VALUES(...)                                                                                   \
    (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

struct filter {
    const uint32_t *calls; /* matched with any arguments */
    size_t call_count;
    const struct filter_row *rows;
    size_t row_count;
    /* SECCOMP_RET_*. later: for calls that are not matched and that Linux has only since 5.1. Calls of
     * another architecture kill the process. */
    uint32_t matched, otherwise, later;
};

/* Installs it for all threads of the process, and all that they start. Needs no new privileges
 * (PR_SET_NO_NEW_PRIVS). ERR_CONFIG: the kernel refuses. A build with sanitizers, which make other calls,
 * installs nothing. */
MUST_CHECK enum err filter_install(const struct filter *filter, struct detail *detail);
