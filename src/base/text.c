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
    size_t got;
    return sodium_hex2bin(out, len, text, text_len, NULL, &got, NULL) == 0 && got == len ? ERR_OK
                                                                                         : ERR_MALFORMED;
}

void base64_add(struct buf *out, struct bytes bytes)
{
    const size_t size = sodium_base64_ENCODED_LEN(bytes.len, sodium_base64_VARIANT_ORIGINAL);
    buf_reserve(out, size);
    sodium_bin2base64(
        (char *)out->data + out->len, size, bytes.data, bytes.len, sodium_base64_VARIANT_ORIGINAL);
    out->len += size - 1;
}

char *base64_encode(struct bytes bytes)
{
    struct buf out = {0};
    base64_add(&out, bytes);
    buf_add(&out, "", 1);
    return (char *)out.data;
}

/* Returns 0 to 63, or UINT32_MAX. A table, because ledgers arrive as megabytes of base64. It has each digit's
 * value plus one, so that 0 means no digit. */
static uint32_t base64_digit(char c)
{
    /* clang-format off */
    static const uint8_t digits[256] = {
        ['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
        ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50,
        51, 52,
        ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
        ['+'] = 63,
        ['/'] = 64,
    };
    /* clang-format on */
    return digits[(uint8_t)c] - 1u;
}

/* Decodes groups of four digits. Returns whether all were digits: this is looked at once, at the end, because
 * it is faster. */
static bool decode_groups(const char *text, size_t groups, uint8_t *to)
{
    uint32_t all = 0;
    for (; groups > 0; groups--, text += 4, to += 3) {
        const uint32_t a = base64_digit(text[0]), b = base64_digit(text[1]), c = base64_digit(text[2]),
                       d = base64_digit(text[3]), group = a << 18 | b << 12 | c << 6 | d;
        all |= a | b | c | d;
        to[0] = (uint8_t)(group >> 16);
        to[1] = (uint8_t)(group >> 8);
        to[2] = (uint8_t)group;
    }
    return all < 64;
}

enum err base64_decode_to(const char *text, size_t text_len, uint8_t *out, size_t *len)
{
    *len = 0;
    if (text_len == 0)
        return ERR_OK;
    if (text_len % 4 != 0)
        return ERR_MALFORMED;
    const size_t groups = text_len / 4 - 1, padding = text[text_len - 1] != '='   ? 0
                                                      : text[text_len - 2] != '=' ? 1
                                                                                  : 2;
    static const uint8_t unused[] = {0, 0x03, 0x0f}; /* bits of the last digit */
    char last[4];
    uint8_t bytes[3];
    memcpy(last, text + 4 * groups, sizeof last);
    if (padding > 0 && (base64_digit(last[3 - padding]) & unused[padding]) != 0)
        return ERR_MALFORMED;
    memset(last + sizeof last - padding, 'A', padding);
    if (!decode_groups(text, groups, out) || !decode_groups(last, 1, bytes))
        return ERR_MALFORMED;
    memcpy(out + 3 * groups, bytes, 3 - padding);
    *len = 3 * groups + 3 - padding;
    return ERR_OK;
}

enum err base64_decode(const char *text, size_t text_len, struct buf *out)
{
    size_t len;
    buf_reserve(out, text_len / 4 * 3 + 1);
    enum err e = base64_decode_to(text, text_len, out->data + out->len, &len);
    if (e == ERR_OK)
        out->len += len;
    return e;
}

char *base64_url_encode(struct bytes bytes)
{
    const size_t size = sodium_base64_ENCODED_LEN(bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return sodium_bin2base64(
        mem_new(size, 1), size, bytes.data, bytes.len, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

enum err base64_url_decode(const char *text, size_t text_len, struct buf *out)
{
    size_t len;
    buf_reserve(out, text_len + 1);
    if (sodium_base642bin(out->data + out->len, text_len, text, text_len, NULL, &len, NULL,
            sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return ERR_MALFORMED;
    out->len += len;
    return ERR_OK;
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

bool text_is_control(const char *at)
{
    const uint8_t *text = (const uint8_t *)at;
    return text[0] < ' ' || text[0] == 0x7f || (text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0);
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
