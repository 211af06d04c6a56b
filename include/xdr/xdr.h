/*
 * Reads XDR (RFC 4506) by schema. The schema of all types (xdr/types.h, src/xdr/schema.c) is generated from
 * Stellar's definitions, and one walker interprets it. Strict: every enum value, union arm, boolean, length
 * and padding byte is checked. It allocates and copies nothing; depth and C stack are bounded.
 *
 * A decoder is a sequence of reads: primitives with xdr_u32 and the like, any other type with xdr_take, which
 * validates one whole value and returns its bytes. The reader keeps its first error: each read after it
 * advances nothing and returns zeros, so a decoder may look at the error once, at its end. What loops or
 * decides in between looks first.
 */
#pragma once

#include "base/bytes.h"
#include "base/err.h"
#include "xdr/types.h" /* enum xdr_type: XDR_TransactionEnvelope, XDR_LedgerCloseMeta, ... (generated) */

/*
 * The deepest nesting of structs, options and arrays that is read (a union counts as its arm). The
 * protocol allows less: its Rust parser stops at 1,000 levels, and counts every level that counts here, and
 * others. Up to protocol 27 its C++ parser also stops at 500 levels; it counts one for each SCVal, which is
 * two or three levels here.
 */
#define XDR_MAX_DEPTH 2000

/* The bytes left to read. Each read advances at; after an error it is the position of the fault. */
struct xdr_reader {
    const uint8_t *at, *end;
    enum err e;            /* the first error */
    enum xdr_type unknown; /* the type of the value at `at`, when a walk found ERR_XDR_UNKNOWN_ARM; else 0 */
};

struct xdr_reader xdr_reader(struct bytes bytes);

/* For a decoder that does not accept what it has read. An earlier error stays, and
 * ERR_OK changes nothing. */
void xdr_fail(struct xdr_reader *reader, enum err e);

/*
 * Errors of all reads: ERR_XDR_TRUNCATED, ERR_XDR_INVALID (boolean, padding, length over its maximum),
 * ERR_XDR_UNKNOWN_ARM (an enum value or union discriminant that the schema lacks: the network may run a newer
 * protocol), ERR_XDR_TOO_DEEP.
 */
uint32_t xdr_u32(struct xdr_reader *reader);
int32_t xdr_i32(struct xdr_reader *reader);
uint64_t xdr_u64(struct xdr_reader *reader);
int64_t xdr_i64(struct xdr_reader *reader);
bool xdr_bool(struct xdr_reader *reader);
/* The count of an array, or the flag of an option (max is then 1). ERR_XDR_INVALID when it is above max.
 * Check a count against the bytes that are left before you allocate memory for it, and the reader's error in
 * each round of a loop. */
uint32_t xdr_count(struct xdr_reader *reader, uint32_t max);
/* Fixed opaque of len bytes (a multiple of 4 in all uses here). */
void xdr_opaque(struct xdr_reader *reader, uint8_t *out, size_t len);

/* Validates one value of type, advances past it, and returns its bytes; after an error {0}. */
struct bytes xdr_take(struct xdr_reader *reader, enum xdr_type type);

/* The same for an array of at most max values of type. The bytes include its count, which is also *count. */
struct bytes xdr_take_array(struct xdr_reader *reader, enum xdr_type type, uint32_t max, uint32_t *count);

/* The reader's error; ERR_XDR_TRAILING when bytes are left. */
MUST_CHECK enum err xdr_end(const struct xdr_reader *reader);

/* Validates that bytes are exactly one value of type. */
MUST_CHECK enum err xdr_check(enum xdr_type type, struct bytes bytes);

/*
 * As xdr_take, and calls found(span, context) for each value of the type `wanted` in it. A value is found
 * when its last byte has been validated, so an inner value comes before the one that contains it. An error of
 * found ends the walk and is returned. ERR_INTERNAL when every byte pattern is a valid value of `wanted`
 * (Hash, Price, ...): the walker skips such values without examining them.
 */
typedef enum err (*xdr_found)(struct bytes span, void *context);
MUST_CHECK enum err xdr_each(
    struct xdr_reader *reader, enum xdr_type type, enum xdr_type wanted, xdr_found found, void *context);

/* The same for several types, all different, in one walk. */
struct xdr_search {
    enum xdr_type type;
    xdr_found found;
    void *context;
};
MUST_CHECK enum err xdr_search(
    struct xdr_reader *reader, enum xdr_type type, const struct xdr_search *searches, size_t count);

/* The name of a value of an enum for which the schema has names; NULL: it is none. */
const char *xdr_value_name(enum xdr_type type, int32_t value);

/* The name of an OperationResult: that of the operation's result code ("PAYMENT_UNDERFUNDED"), else its own
 * ("opNO_ACCOUNT"). NULL: it is not valid. */
const char *xdr_result_name(struct bytes result);

/* The XDR name of a type ("TransactionEnvelope"). */
const char *xdr_type_name(enum xdr_type type);
