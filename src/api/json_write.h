/*
 * Writes a JSON object straight into its text: the replies of leases and fee bumps, of which there are
 * thousands a second. The caller writes each name once; names are literals that need no escape.
 */
#ifndef FAIRWAY_API_JSON_WRITE_H
#define FAIRWAY_API_JSON_WRITE_H

#include "stellar/ids.h"

struct json_write {
    struct buf text;
    bool not_utf8; /* a text was not; json_write_end returns NULL */
};

/* *out is zeroed before. room: about how many bytes the object will have. */
void json_write_begin(struct json_write *out, size_t room);
/* Any UTF-8 text. */
void json_write_text(struct json_write *out, const char *name, const char *text);
/* A number, and a number as a decimal string. */
void json_write_number(struct json_write *out, const char *name, int64_t value);
void json_write_decimal(struct json_write *out, const char *name, int64_t value);
void json_write_hash(struct json_write *out, const char *name, const struct hash *hash);
void json_write_address(struct json_write *out, const char *name, const struct public_key *key);
void json_write_base64(struct json_write *out, const char *name, struct bytes bytes);
/* The terminated text, from malloc, which the caller owns. NULL: a text was not UTF-8. */
char *json_write_end(struct json_write *out);

#endif
