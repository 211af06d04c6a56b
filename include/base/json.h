/*
 * Reading a request's JSON body, strictly: a body that could mean something else than what is read is
 * refused, with a detail that names the member.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/mem.h"

#define JSON_READ_DEPTH 8   /* levels of arrays and objects */
#define JSON_READ_VALUES 64 /* members and elements at all levels */

/*
 * ERR_INVALID_JSON unless text is one JSON object (RFC 8259) in UTF-8 and nothing else: no member twice, no
 * NUL (raw or \u0000), nothing trailing, no deeper than JSON_READ_DEPTH, no more than JSON_READ_VALUES,
 * numbers that fit. Memory and time are proportional to the length of the text, whatever it is. On ERR_OK the
 * caller json_decrefs *out (or declares it AUTO_JSON); otherwise *out is NULL.
 */
MUST_CHECK enum err json_read_object(struct bytes text, json_t **out, struct detail *detail);

/*
 * Whether a text has no more levels of arrays and objects than this, and no more values at all levels; why
 * says what it has more of. Counts the bytes without reading the values: a tree of JSON values takes up to
 * fifty times their size. Whether the text is JSON is not checked.
 */
bool json_is_within(struct bytes text, unsigned depth_max, size_t values_max, struct detail *why);

/*
 * ERR_INVALID_REQUEST for the first member whose name is not among names: a misspelt optional member must not
 * be ignored.
 */
MUST_CHECK enum err json_read_only(
    const json_t *object, const char *const *names, size_t count, struct detail *detail);

/* Whether the member is present and not null. Below, null counts as absent. */
bool json_read_has(const json_t *object, const char *name);

/*
 * Reads a required member: ERR_INVALID_REQUEST when it is absent or of another type. For an optional one call
 * json_read_has first. *out lives as long as object.
 */
MUST_CHECK enum err json_read_text(
    const json_t *object, const char *name, const char **out, struct detail *detail);
/* A JSON number without fraction or exponent, from min to max. */
MUST_CHECK enum err json_read_number(
    const json_t *object, const char *name, uint64_t min, uint64_t max, uint64_t *out, struct detail *detail);
/* An unsigned decimal in a string, as fees and sequences are written, from min to max. */
MUST_CHECK enum err json_read_decimal(
    const json_t *object, const char *name, uint64_t min, uint64_t max, uint64_t *out, struct detail *detail);

void json_free_at(json_t **object);
#define AUTO_JSON CLEANUP(json_free_at)
