/*
 * XDR (RFC 4506) read by schema, not by hand: the schema of all types (xdr/types.h, src/xdr/schema.c) is
 * generated from the official SDK, and one walker interprets it. Strict: every enum value, union arm,
 * boolean, length and padding byte is checked, nothing is skipped unseen. No allocation, no copy, depth
 * bounded, the C stack too.
 *
 * A typed view is written as a sequence of reads: primitives by name, anything else with xdr_take, which
 * validates one whole value and gives its bytes.
 */
#ifndef FAIRWAY_XDR_XDR_H
#define FAIRWAY_XDR_XDR_H

#include "base/bytes.h"
#include "base/err.h"
#include "xdr/types.h" /* enum xdr_type: XDR_TransactionEnvelope, XDR_LedgerCloseMeta, ... (generated) */

/*
 * Nested values that a walk follows: structs, options and arrays (a union counts as its arm). The protocol
 * allows 1,000 levels by the count of its Rust parser, which counts these and more, or (to protocol 27) 500
 * by that of its C++ one, which counts each SCVal; two or three of ours.
 */
#define XDR_MAX_DEPTH 2000

/* What is left to read. Reads advance it; after an error its position is where the fault is. */
struct xdr_reader {
    const uint8_t *at, *end;
};

struct xdr_reader xdr_reader(struct bytes bytes);

/*
 * Errors of all reads: ERR_XDR_TRUNCATED, ERR_XDR_INVALID (boolean, padding, length over its maximum),
 * ERR_XDR_UNKNOWN_ARM (enum value or union discriminant that the schema lacks: the network may have upgraded
 * past us), ERR_XDR_TOO_DEEP.
 */
MUST_CHECK enum err xdr_u32(struct xdr_reader *reader, uint32_t *out);
MUST_CHECK enum err xdr_i32(struct xdr_reader *reader, int32_t *out);
MUST_CHECK enum err xdr_u64(struct xdr_reader *reader, uint64_t *out);
MUST_CHECK enum err xdr_i64(struct xdr_reader *reader, int64_t *out);
MUST_CHECK enum err xdr_bool(struct xdr_reader *reader, bool *out);
/* The count of an array, or the flag of an option (max 1); ERR_XDR_INVALID when it is above max. It promises
 * nothing about what follows: a size that is taken from it must be held against what is left. */
MUST_CHECK enum err xdr_count(struct xdr_reader *reader, uint32_t max, uint32_t *out);
/* Fixed opaque of len bytes (a multiple of 4 in all uses here). */
MUST_CHECK enum err xdr_opaque(struct xdr_reader *reader, uint8_t *out, size_t len);

/* Validates one value of type and passes it; *span (may be NULL) is the bytes it takes. */
MUST_CHECK enum err xdr_take(struct xdr_reader *reader, enum xdr_type type, struct bytes *span);

/* ERR_XDR_TRAILING when anything is left. */
MUST_CHECK enum err xdr_end(const struct xdr_reader *reader);

/* Exactly one value of type and nothing behind it. */
MUST_CHECK enum err xdr_check(enum xdr_type type, struct bytes bytes);

/*
 * As xdr_take, and calls found(span, context) for each value of the type `wanted` in it, in the order of the
 * bytes, after that value was validated (an inner one before the one that contains it). An error that found
 * returns ends the walk. ERR_INTERNAL when every byte pattern is a valid value of `wanted` (Hash, Price,
 * ...): those are passed without a look.
 */
typedef enum err (*xdr_found)(struct bytes span, void *context);
MUST_CHECK enum err xdr_each(
    struct xdr_reader *reader, enum xdr_type type, enum xdr_type wanted, xdr_found found, void *context);

/* The XDR name of a type ("TransactionEnvelope"), and the type of a name, or -1: for inspect and tests. */
const char *xdr_type_name(enum xdr_type type);
int xdr_type_by_name(const char *name);

#endif
