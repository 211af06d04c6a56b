/*
 * Strkey (SEP-23) of 32 bytes: a version byte, the value and a CRC-16, in base 32. ids.h has typed forms of
 * it; the key process reads secret seeds with it.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum strkey_version {
    STRKEY_ACCOUNT = 6 << 3,  /* G */
    STRKEY_SEED = 18 << 3,    /* S, secret */
    STRKEY_CONTRACT = 2 << 3, /* C */
};

#define STRKEY_SIZE 57 /* characters, with the terminator */

/* Leaves no copy of the value on the stack. */
void strkey_encode(enum strkey_version version, const uint8_t value[static 32], char out[static STRKEY_SIZE]);

/*
 * text is NUL-terminated. ERR_MALFORMED (out is unchanged) unless text has this version and length, is upper
 * case, and has the right checksum. Leaves no copy of the value on the stack.
 */
MUST_CHECK enum err strkey_decode(enum strkey_version version, const char *text, uint8_t out[static 32]);
