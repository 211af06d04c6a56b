/*
 * Makes jansson's values of a request's JSON. jansson's own parser takes 7 to 14 times as long for a long
 * string, which is what a transaction is; only numbers, true, false and null are left to it.
 */
#ifndef FAIRWAY_BASE_JSON_PARSE_H
#define FAIRWAY_BASE_JSON_PARSE_H

#include <jansson.h>

#include "base/bytes.h"
#include "base/err.h"

#define JSON_PARSE_NUMBER_MAX 64 /* characters of a number */

/* The value, strict and within the limits that base/json.h describes for objects; or NULL, with the reason in
 * detail. */
json_t *json_parse(struct bytes text, struct detail *detail);

#endif
