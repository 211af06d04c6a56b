/*
 * The format of the generated schema (schema.c). A type is a sequence of steps in the order of its encoding.
 * A union or enum is a choice among arms, each of which is one step. A run of bytes in which every pattern is
 * valid (integers, hashes) is one step.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "xdr/types.h"

enum xdr_op {
    XDR_OP_END,    /* end of the type */
    XDR_OP_BYTES,  /* n bytes of any pattern (n = 0: a void arm) */
    XDR_OP_BOOL,   /* 0 or 1 */
    XDR_OP_OPAQUE, /* length, at most n, bytes, zero padding: opaque<n> and string<n> */
    XDR_OP_ARRAY,  /* count, at most n, values of type */
    XDR_OP_OPTION, /* 0, or 1 and a value of type */
    XDR_OP_TYPE,   /* a value of type */
    XDR_OP_UNION,  /* a value of type, a union or enum */
    XDR_OP_ARMS,   /* the discriminant and arm of this type */
};

struct xdr_step {
    uint16_t op, type;
    uint32_t n;
};

struct xdr_arm {
    int32_t value;
    struct xdr_step step;
};

struct xdr_type_info {
    const char *name;
    const struct xdr_step *steps; /* to an XDR_OP_END */
    const struct xdr_arm *arms;   /* ascending by value; NULL unless a union or enum */
    uint32_t arm_count;
    uint32_t plain_size; /* size of every value when all byte patterns are valid, else 0 */
    const char *const *names; /* of the arms, in their order; NULL unless a result */
};

extern const struct xdr_type_info xdr_types[XDR_TYPE_COUNT];

/* The macros of schema.c. */
/* clang-format off */
#define END          {XDR_OP_END, 0, 0}
#define NOTHING      {XDR_OP_BYTES, 0, 0}
#define BYTES(n)     {XDR_OP_BYTES, 0, (n)}
#define BOOL         {XDR_OP_BOOL, 0, 0}
#define OPAQUE(max)  {XDR_OP_OPAQUE, 0, (max)}
#define ARRAY(T, max) {XDR_OP_ARRAY, XDR_##T, (max)}
#define OPTION(T)    {XDR_OP_OPTION, XDR_##T, 0}
#define TYPE(T)      {XDR_OP_TYPE, XDR_##T, 0}
#define UNION(T)     {XDR_OP_UNION, XDR_##T, 0}

#define SEQUENCE(T, plain) [XDR_##T] = {#T, T, NULL, 0, (plain), NULL}
#define CHOICE(T, plain) NAMED(T, plain, NULL)
#define RESULT(T, plain) NAMED(T, plain, T##_names)
#define NAMED(T, plain, names) \
    [XDR_##T] = {#T, (const struct xdr_step[]){{XDR_OP_ARMS, XDR_##T, 0}, END}, T, sizeof(T) / sizeof((T)[0]), (plain), names}
/* clang-format on */
