/*
 * Random XDR values of any type of the schema. Wherever a value has an account, the generator asks which one
 * to write: a role is a place (a step of a type, or an arm of a union) whose type holds an account.
 */
#pragma once

#include <string.h>

#include "base/bytes.h"
#include "stellar/ids.h"
#include "xdr/schema.h"
#include "xdr/xdr.h"

#define GENERATE_DEPTH_MAX 9 /* nesting of types; below it, arrays and options are empty */
#define ROLES_MAX 128

/* The place of an account: its container, and the index of the step or arm there. */
struct role {
    enum xdr_type container;
    unsigned index;
    enum xdr_type holds;
    uint64_t hits; /* with an account of fairway's */
};

struct generator {
    uint64_t state; /* xorshift64*, not 0 */
    struct buf *out;
    /* Chooses the account for a role. */
    struct public_key (*account)(struct generator *generator, struct role *role);
    struct role roles[ROLES_MAX];
    size_t role_count;
    unsigned unknown_arm_in; /* one union in this many gets an arm that the schema lacks; 0: none */
    bool unknown_arm;        /* one was written */
    unsigned credentials[2]; /* SorobanCredentials written: of the source account, by address */
};

static inline uint64_t generate_number(struct generator *generator)
{
    generator->state ^= generator->state >> 12;
    generator->state ^= generator->state << 25;
    generator->state ^= generator->state >> 27;
    return generator->state * 0x2545F4914F6CDD1D;
}

static inline uint32_t generate_below(struct generator *generator, uint32_t limit)
{
    return (uint32_t)((generate_number(generator) >> 32) * limit >> 32);
}

/* True once in `times`. */
static inline bool generate_once_in(struct generator *generator, uint32_t times)
{
    return generate_below(generator, times) == 0;
}

static inline bool holds_account(unsigned type)
{
    return type == XDR_PublicKey || type == XDR_MuxedAccount || type == XDR_ScAddress ||
           type == XDR_SignerKey;
}

static inline struct role *role_find(struct generator *generator, enum xdr_type container, unsigned index)
{
    for (size_t i = 0; i < generator->role_count; i++)
        if (generator->roles[i].container == container && generator->roles[i].index == index)
            return &generator->roles[i];
    return NULL;
}

static inline void generate_bytes(struct generator *generator, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const uint8_t byte = (uint8_t)(generate_number(generator) >> 56);
        buf_add(generator->out, &byte, 1);
    }
}

static inline void generate_opaque(struct generator *generator, uint32_t max)
{
    static const uint8_t padding[4];
    const uint32_t len = generate_below(generator, max < 9 ? max + 1 : 9);
    buf_add_u32(generator->out, len);
    generate_bytes(generator, len);
    buf_add(generator->out, padding, -len & 3);
}

static inline void generate_type(struct generator *generator, enum xdr_type type, unsigned depth);

/* An account in one of the forms of its type. The other arms (a contract, a hash) have random bytes. */
static inline void generate_account(struct generator *generator, enum xdr_type type, struct role *role)
{
    const struct xdr_type_info *info = &xdr_types[type];
    const int32_t arm = info->arms[generate_below(generator, info->arm_count)].value;
    const bool muxed = (type == XDR_MuxedAccount && arm == 0x100) || (type == XDR_ScAddress && arm == 2);
    const bool payload = type == XDR_SignerKey && arm == 3;
    buf_add_u32(generator->out, (uint32_t)arm);
    if (muxed || (type == XDR_ScAddress && arm == 5))
        generate_bytes(generator, 8);
    if (type == XDR_ScAddress && (arm == 0 || arm == 3))
        buf_add_u32(generator->out, 0); /* of PublicKey and ClaimableBalanceId */
    if (arm == 0 || muxed || payload) {
        const struct public_key key = generator->account(generator, role);
        buf_add(generator->out, key.bytes, sizeof key.bytes);
    } else {
        generate_bytes(generator, 32);
    }
    if (payload)
        generate_opaque(generator, 64);
}

/* Arms that end soon, once the value is deep. */
static inline const struct xdr_step *generate_arm(
    struct generator *generator, enum xdr_type type, unsigned depth, unsigned *index)
{
    const struct xdr_type_info *info = &xdr_types[type];
    if (generator->unknown_arm_in != 0 && generate_once_in(generator, generator->unknown_arm_in)) {
        generator->unknown_arm = true;
        buf_add_u32(generator->out, (uint32_t)info->arms[info->arm_count - 1].value + 1);
        return NULL;
    }
    *index = generate_below(generator, info->arm_count);
    for (unsigned i = 0; depth >= GENERATE_DEPTH_MAX && i < info->arm_count; i++)
        if (info->arms[i].step.op == XDR_OP_BYTES)
            *index = i;
    buf_add_u32(generator->out, (uint32_t)info->arms[*index].value);
    if (type == XDR_SorobanCredentials)
        generator->credentials[info->arms[*index].value != 0]++;
    return &info->arms[*index].step;
}

/* The values of another type that a step contains. */
static inline void generate_values(struct generator *generator, enum xdr_type container, unsigned index,
    const struct xdr_step *step, uint32_t count, unsigned depth)
{
    for (uint32_t i = 0; i < count; i++)
        if (holds_account(step->type))
            generate_account(generator, step->type, role_find(generator, container, index));
        else
            generate_type(generator, step->type, depth + 1);
}

static inline void generate_step(struct generator *generator, enum xdr_type container, unsigned index,
    const struct xdr_step *step, unsigned depth)
{
    const bool deep = depth >= GENERATE_DEPTH_MAX;
    uint32_t count = 1;
    switch ((enum xdr_op)step->op) {
    case XDR_OP_BYTES:
        generate_bytes(generator, step->n);
        return;
    case XDR_OP_BOOL:
        buf_add_u32(generator->out, generate_below(generator, 2));
        return;
    case XDR_OP_OPAQUE:
        generate_opaque(generator, step->n);
        return;
    case XDR_OP_ARRAY:
        count = deep ? 0 : generate_below(generator, step->n < 2 ? step->n + 1 : 3);
        buf_add_u32(generator->out, count);
        break;
    case XDR_OP_OPTION:
        count = deep ? 0 : generate_below(generator, 2);
        buf_add_u32(generator->out, count);
        break;
    case XDR_OP_ARMS:
        step = generate_arm(generator, step->type, depth, &index);
        if (step != NULL)
            generate_step(generator, container, index, step, depth);
        return;
    case XDR_OP_TYPE:
    case XDR_OP_UNION:
        break;
    case XDR_OP_END:
        return;
    }
    generate_values(generator, container, index, step, count, depth);
}

static inline void generate_type(struct generator *generator, enum xdr_type type, unsigned depth)
{
    const struct xdr_step *steps = xdr_types[type].steps;
    for (unsigned i = 0; steps[i].op != XDR_OP_END; i++)
        generate_step(generator, type, i, &steps[i], depth);
}

/* ---- the roles that the schema allows */

static inline void collect_roles(struct generator *generator, enum xdr_type type, bool seen[XDR_TYPE_COUNT]);

static inline void collect_step(struct generator *generator, enum xdr_type container, unsigned index,
    const struct xdr_step *step, bool seen[XDR_TYPE_COUNT])
{
    if (step->op != XDR_OP_ARRAY && step->op != XDR_OP_OPTION && step->op != XDR_OP_TYPE &&
        step->op != XDR_OP_UNION)
        return;
    if (holds_account(step->type))
        generator->roles[generator->role_count++] =
            (struct role){.container = container, .index = index, .holds = step->type};
    else
        collect_roles(generator, step->type, seen);
}

/* Every role in values of a type. */
static inline void collect_roles(struct generator *generator, enum xdr_type type, bool seen[XDR_TYPE_COUNT])
{
    const struct xdr_type_info *info = &xdr_types[type];
    if (seen[type])
        return;
    seen[type] = true;
    for (unsigned i = 0; info->steps[i].op != XDR_OP_END; i++)
        collect_step(generator, type, i, &info->steps[i], seen);
    for (unsigned i = 0; i < info->arm_count; i++)
        collect_step(generator, type, i, &info->arms[i].step, seen);
}
