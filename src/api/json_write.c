#include "json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void add(struct json_write *out, const char *text)
{
    buf_add(&out->text, text, strlen(text));
}

static void name(struct json_write *out, const char *name)
{
    add(out, out->text.len > 1 ? ",\"" : "\"");
    add(out, name);
    add(out, "\":");
}

/* Hexadecimal digits, base32, decimal digits: nothing to escape. */
static void plain(struct json_write *out, const char *text)
{
    add(out, "\"");
    add(out, text);
    add(out, "\"");
}

void json_write_begin(struct json_write *out, size_t room)
{
    buf_reserve(&out->text, room);
    add(out, "{");
}

/* Length of the UTF-8 character at text (RFC 3629 section 4), or 0. A zero byte matches no range, so that
 * nothing is read past the end. */
static size_t character_length(const uint8_t *text)
{
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

void json_write_text(struct json_write *out, const char *member, const char *text)
{
    name(out, member);
    add(out, "\"");
    for (size_t len; *text != '\0'; text += len) {
        char escaped[8] = "";
        if ((len = character_length((const uint8_t *)text)) == 0) {
            out->not_utf8 = true;
            return;
        }
        if (*text == '"' || *text == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*text);
        if (escaped[0] != '\0')
            add(out, escaped);
        else
            buf_add(&out->text, text, len);
    }
    add(out, "\"");
}

void json_write_number(struct json_write *out, const char *member, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    name(out, member);
    add(out, digits);
}

void json_write_decimal(struct json_write *out, const char *member, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    name(out, member);
    plain(out, digits);
}

void json_write_hash(struct json_write *out, const char *member, const struct hash *hash)
{
    char text[HASH_HEX_SIZE];
    hash_encode(hash, text);
    name(out, member);
    plain(out, text);
}

void json_write_address(struct json_write *out, const char *member, const struct public_key *key)
{
    char text[ADDRESS_SIZE];
    address_encode(key, text);
    name(out, member);
    plain(out, text);
}

void json_write_base64(struct json_write *out, const char *member, struct bytes bytes)
{
    name(out, member);
    add(out, "\"");
    base64_add(&out->text, bytes);
    add(out, "\"");
}

char *json_write_end(struct json_write *out)
{
    if (out->not_utf8) {
        buf_free(&out->text);
        return NULL;
    }
    buf_add(&out->text, "}", 2); /* with the terminator */
    return (char *)out->text.data;
}
