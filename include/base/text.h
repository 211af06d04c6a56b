/*
 * Text forms of bytes and numbers (hex_*, base64_*, text_*). Decoding is strict: each value has one spelling,
 * except that hexadecimal digits may be of either case.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"

/* out holds 2 * len + 1 bytes; lower case. */
void hex_encode(const uint8_t *data, size_t len, char *out);
/* Exactly 2 * len digits of either case, else ERR_MALFORMED. */
MUST_CHECK enum err hex_decode(const char *text, size_t text_len, uint8_t *out, size_t len);

/* Standard alphabet with padding (RFC 4648 section 4). The caller frees the text. */
char *base64_encode(struct bytes bytes);
/* Appends the same text, not terminated. */
void base64_add(struct buf *out, struct bytes bytes);
/* Appends to out. ERR_MALFORMED (out keeps its length) unless text is canonical base64: no white space, no
 * missing padding, unused bits zero. */
MUST_CHECK enum err base64_decode(const char *text, size_t text_len, struct buf *out);
/* The same into out, which has room for text_len / 4 * 3 bytes and may be the text itself. On ERR_MALFORMED
 * its bytes are undefined. */
MUST_CHECK enum err base64_decode_to(const char *text, size_t text_len, uint8_t *out, size_t *len);

/* The same with the alphabet for URLs and without padding (RFC 4648 section 5), as JSON web tokens have it
 * (RFC 7515 section 2). */
char *base64_url_encode(struct bytes bytes);
MUST_CHECK enum err base64_url_decode(const char *text, size_t text_len, struct buf *out);

/* The whole text must be decimal digits without sign ('-' is allowed for i64), white space or leading zeros,
 * and the value at most max; else ERR_MALFORMED, also for NULL. */
MUST_CHECK enum err text_to_u64(const char *text, uint64_t max, uint64_t *out);
MUST_CHECK enum err text_to_i64(const char *text, int64_t *out);

bool text_equal(const char *a, const char *b);            /* NULL equals only NULL */
bool text_equal_but_digits(const char *a, const char *b); /* as "after 3 ms" and "after 12 ms" */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *end);

/* Bytes of the UTF-8 character at text (RFC 3629 section 4), or 0. Nothing past a zero byte is read. */
size_t text_character_length(const char *text);
/* Whether UTF-8 text begins with a control character: of ASCII, or U+0080 to U+009F, which terminals obey too
 * (ISO 6429). */
bool text_is_control(const char *text);
