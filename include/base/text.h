/* Text forms of bytes and numbers, all strict: one spelling each, nothing skipped, nothing trailing. */
#ifndef FAIRWAY_BASE_TEXT_H
#define FAIRWAY_BASE_TEXT_H

#include "base/bytes.h"
#include "base/err.h"

/* out holds 2 * len + 1 bytes; lower case. */
void hex_encode(const uint8_t *data, size_t len, char *out);
/* Exactly 2 * len digits of either case, else ERR_MALFORMED. */
MUST_CHECK enum err hex_decode(const char *text, size_t text_len, uint8_t *out, size_t len);

/* Standard alphabet with padding (RFC 4648 section 4). New memory, the caller frees; terminated. */
char *base64_encode(struct bytes bytes);
/* Appends to out. ERR_MALFORMED for anything but canonical base64: white space, missing padding, stray bits.
 */
MUST_CHECK enum err base64_decode(const char *text, size_t text_len, struct buf *out);

/* Decimal without sign (or with '-' for i64), white space or leading zeros; the whole of text. */
MUST_CHECK enum err text_to_u64(const char *text, uint64_t max, uint64_t *out);
MUST_CHECK enum err text_to_i64(const char *text, int64_t *out);

bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
bool text_starts(const char *text, const char *prefix);

#endif
