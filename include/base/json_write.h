/*
 * Writes a JSON object straight into its text. The caller writes each name once; names are literals that need
 * no escape, and NULL in an array.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct json_write {
    struct buf text;
    bool not_utf8; /* a text was not; json_write_end returns NULL */
};

/* *out is zeroed before. room: about how many bytes the object will have. */
void json_write_begin(struct json_write *out, size_t room);
/* Begins an object ('{') or an array ('['). */
void json_write_open(struct json_write *out, const char *name, char bracket);
void json_write_close(struct json_write *out, char bracket);
/* Any UTF-8 text. */
void json_write_text(struct json_write *out, const char *name, const char *text);
/* Any bytes: those that are not UTF-8 become question marks. */
void json_write_bytes(struct json_write *out, const char *name, const char *text);
/* A number, and a number as a decimal string: amounts, sequence numbers and times. */
void json_write_number(struct json_write *out, const char *name, int64_t value);
void json_write_decimal(struct json_write *out, const char *name, int64_t value);
void json_write_hex(struct json_write *out, const char *name, struct bytes bytes);
void json_write_base64(struct json_write *out, const char *name, struct bytes bytes);
void json_write_bool(struct json_write *out, const char *name, bool value);
void json_write_null(struct json_write *out, const char *name);
/* The members of another object, which json_write_end has returned. */
void json_write_members(struct json_write *out, const char *object);
/* The terminated text, from malloc, which the caller owns. NULL: a text was not UTF-8. */
char *json_write_end(struct json_write *out);
