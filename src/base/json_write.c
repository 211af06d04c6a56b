/* Writes JSON text. Nothing is read here, and no tree is made. */
#include "base/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void add(struct json_write *out, const char *text)
{
    buf_add(&out->text, text, strlen(text));
}

static void separate(struct json_write *out)
{
    const uint8_t last = out->text.data[out->text.len - 1];
    if (last != '{' && last != '[')
        add(out, ",");
}

static void name(struct json_write *out, const char *name)
{
    separate(out);
    if (name == NULL)
        return;
    add(out, "\"");
    add(out, name);
    add(out, "\":");
}

static void value(struct json_write *out, const char *member, const char *text)
{
    name(out, member);
    add(out, text);
}

void json_write_begin(struct json_write *out, size_t room)
{
    buf_reserve(&out->text, room);
    add(out, "{");
}

void json_write_open(struct json_write *out, const char *member, char bracket)
{
    name(out, member);
    buf_add(&out->text, &bracket, 1);
}

void json_write_close(struct json_write *out, char bracket)
{
    buf_add(&out->text, &bracket, 1);
}

static void put_text(struct json_write *out, const char *member, const char *text, bool any)
{
    name(out, member);
    add(out, "\"");
    for (size_t len; *text != '\0'; text += len) {
        char escaped[8] = "";
        if ((len = text_character_length(text)) == 0) {
            out->not_utf8 |= !any;
            escaped[0] = '?';
            len = 1;
        } else if (*text == '"' || *text == '\\')
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

void json_write_text(struct json_write *out, const char *member, const char *text)
{
    put_text(out, member, text, false);
}

void json_write_bytes(struct json_write *out, const char *member, const char *text)
{
    put_text(out, member, text, true);
}

void json_write_number(struct json_write *out, const char *member, int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, number);
    value(out, member, digits);
}

void json_write_decimal(struct json_write *out, const char *member, int64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "\"%" PRId64 "\"", number);
    value(out, member, digits);
}

void json_write_hex(struct json_write *out, const char *member, struct bytes bytes)
{
    value(out, member, "\"");
    buf_reserve(&out->text, 2 * bytes.len + 1);
    hex_encode(bytes.data, bytes.len, (char *)out->text.data + out->text.len);
    out->text.len += 2 * bytes.len;
    add(out, "\"");
}

void json_write_base64(struct json_write *out, const char *member, struct bytes bytes)
{
    value(out, member, "\"");
    base64_add(&out->text, bytes);
    add(out, "\"");
}

void json_write_bool(struct json_write *out, const char *member, bool is_true)
{
    value(out, member, is_true ? "true" : "false");
}

void json_write_null(struct json_write *out, const char *member)
{
    value(out, member, "null");
}

void json_write_members(struct json_write *out, const char *object)
{
    const size_t len = strlen(object);
    if (len <= 2)
        return;
    separate(out);
    buf_add(&out->text, object + 1, len - 2);
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
