/*
 * Takes the large part out of a response before it is parsed. A ledger is a string of megabytes; a tree of
 * JSON values would copy it twice. So the values of one member, base64, are decoded where they were received,
 * and only the rest, some hundred bytes, becomes a tree.
 */
#pragma once

#include "base/bytes.h"

#define LIFT_MAX 16
#define LIFT_REST_MAX (1 << 20) /* bytes */

struct lift {
    const char *member;           /* set by the caller */
    struct buf text;              /* the response; what was lifted is decoded in it */
    struct bytes items[LIFT_MAX]; /* in the order of the response */
    size_t count;
    struct buf rest; /* the response, with the place of each value in items, as a string, instead of it */
};

/*
 * Lifts each string that is the value of a member of this name, at whatever place. One that is not canonical
 * base64, or that has an escape sequence, becomes null, as do those after the first LIFT_MAX. Whether the
 * text is JSON is not checked: text that is not stays so. A rest above LIFT_REST_MAX is left empty, which is
 * no JSON either. Takes ownership of text.
 */
void lift_values(struct lift *lifted, struct buf text);

/* Keeps the member. */
void lift_free(struct lift *lifted);
