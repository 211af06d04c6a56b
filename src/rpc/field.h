/* Reads members of a response. Integers are numbers or decimal strings, depending on method and server
 * version. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/bytes.h"
#include "base/err.h"

/* Reads a whole number from 0 to max in either form. */
bool field_number(const json_t *value, uint64_t max, uint64_t *out);

/* ERR_RPC_UNAVAILABLE, with the member's name in detail, when it is missing or malformed. */
MUST_CHECK enum err field_u32(const json_t *object, const char *name, uint32_t *out, struct detail *detail);
/* Borrowed from object. */
MUST_CHECK enum err field_text(
    const json_t *object, const char *name, const char **out, struct detail *detail);
/* Base64, appended to out. */
MUST_CHECK enum err field_xdr(const json_t *object, const char *name, struct buf *out, struct detail *detail);
