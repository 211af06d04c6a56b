/*
 * Strkey (SEP-23): a version byte, the value and a CRC-16, in base 32. ids.h has typed forms of it; the key
 * process reads secret seeds with it.
 */
#pragma once

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum strkey_version {
    STRKEY_ACCOUNT = 6 << 3,         /* G: 32 bytes */
    STRKEY_SEED = 18 << 3,           /* S: 32 bytes, secret */
    STRKEY_CONTRACT = 2 << 3,        /* C: 32 bytes */
    STRKEY_MUXED_CONTRACT = 22 << 3, /* W: 32 bytes of the contract, 8 of the number */
};

#define STRKEY_VALUE_MAX 40
/* The characters that a value of len bytes takes, with the terminator. */
#define STRKEY_SIZE(len) ((((len) + 3) * 8 + 4) / 5 + 1)

/* Writes STRKEY_SIZE(len) bytes. len is at most STRKEY_VALUE_MAX. Leaves no copy of the value on the stack.
 */
void strkey_encode(enum strkey_version version, const uint8_t *value, size_t len, char *out);

/*
 * text is NUL-terminated. ERR_MALFORMED (out is unchanged) unless text has this version and length, is upper
 * case without padding, and has zero unused bits and the right checksum. Leaves no copy of the value on the
 * stack.
 */
MUST_CHECK enum err strkey_decode(enum strkey_version version, const char *text, uint8_t *out, size_t len);
