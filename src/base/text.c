/* Hexadecimal, base64, decimal numbers and UTF-8. Each value has one spelling; nothing else is decoded. */
#include "base/text.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void hex_encode(const uint8_t *data, size_t len, char *out)
{
    sodium_bin2hex(out, 2 * len + 1, data, len);
}

enum err hex_decode(const char *text, size_t text_len, uint8_t *out, size_t len)
{
    return text_len == 2 * len && sodium_hex2bin(out, len, text, text_len, NULL, NULL, NULL) == 0
               ? ERR_OK
               : ERR_MALFORMED;
}

/* ---- base64: libsodium refuses what is not canonical, and terminates what it writes */

void base64_add(struct buf *out, struct bytes bytes)
{
    const size_t size = sodium_base64_encoded_len(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    buf_reserve(out, size);
    sodium_bin2base64(
        (char *)out->data + out->len, size, bytes.data, bytes.len, sodium_base64_VARIANT_ORIGINAL);
    out->len += size - 1;
}

static char *encode(struct bytes bytes, int variant)
{
    const size_t size = sodium_base64_encoded_len(bytes.len, variant);
    return sodium_bin2base64(NEW_ARRAY(size, char), size, bytes.data, bytes.len, variant);
}

/* libsodium takes bytes above 0x7f for digits where char is signed. */
static enum err decode_to(
    const char *text, size_t text_len, int variant, uint8_t *out, size_t room, size_t *len)
{
    uint8_t all = 0;
    for (size_t i = 0; i < text_len; i++)
        all |= (uint8_t)text[i];
    return all < 0x80 && sodium_base642bin(out, room, text, text_len, NULL, len, NULL, variant) == 0
               ? ERR_OK
               : ERR_MALFORMED;
}

static enum err decode(const char *text, size_t text_len, int variant, struct buf *out)
{
    const size_t room = text_len / 4 * 3 + 3;
    size_t len;
    buf_reserve(out, room);
    enum err e = decode_to(text, text_len, variant, out->data + out->len, room, &len);
    if (e == ERR_OK)
        out->len += len;
    return e;
}

char *base64_encode(struct bytes bytes)
{
    return encode(bytes, sodium_base64_VARIANT_ORIGINAL);
}

enum err base64_decode(const char *text, size_t text_len, struct buf *out)
{
    return decode(text, text_len, sodium_base64_VARIANT_ORIGINAL, out);
}

/* libsodium writes no byte before it has read those that it is made of. */
enum err base64_decode_to(const char *text, size_t text_len, uint8_t *out, size_t *len)
{
    return decode_to(text, text_len, sodium_base64_VARIANT_ORIGINAL, out, text_len / 4 * 3, len);
}

char *base64_url_encode(struct bytes bytes)
{
    return encode(bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

enum err base64_url_decode(const char *text, size_t text_len, struct buf *out)
{
    return decode(text, text_len, sodium_base64_VARIANT_URLSAFE_NO_PADDING, out);
}

/* ---- numbers and text */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

enum err text_to_u64(const char *text, uint64_t max, uint64_t *out)
{
    char *end;
    if (text == NULL || !is_digit(text[0]) || (text[0] == '0' && text[1] != '\0'))
        return ERR_MALFORMED;
    errno = 0;
    const uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || value > max)
        return ERR_MALFORMED;
    *out = value;
    return ERR_OK;
}

enum err text_to_i64(const char *text, int64_t *out)
{
    uint64_t magnitude;
    bool negative = text != NULL && text[0] == '-';
    if (text_to_u64(negative ? text + 1 : text, negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX, &magnitude) !=
        ERR_OK)
        return ERR_MALFORMED;
    if (negative && magnitude == 0)
        return ERR_MALFORMED;
    *out = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return ERR_OK;
}

bool text_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

bool text_equal_but_digits(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (is_digit(*a))
            a++;
        while (is_digit(*b))
            b++;
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

bool text_starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *end)
{
    const size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* A zero byte matches no range, so that nothing is read past the end. */
size_t text_character_length(const char *at)
{
    const uint8_t *text = (const uint8_t *)at;
    const uint8_t first = text[0];
    if (first < 0x80)
        return 1;
    const size_t len = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    const uint8_t low = first == 0xe0   ? 0xa0
                        : first == 0xf0 ? 0x90
                                        : 0x80,
                  high = first == 0xed   ? 0x9f
                         : first == 0xf4 ? 0x8f
                                         : 0xbf;
    if (first < 0xc2 || first > 0xf4 || text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if (text[i] < 0x80 || text[i] > 0xbf)
            return 0;
    return len;
}
