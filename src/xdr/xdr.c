/* Reads, validates and searches values by the generated schema. No heap and no recursion, whatever comes. */
#include "xdr/xdr.h"

#include <stddef.h>
#include <string.h>

#include "schema.h"

/* ---- primitives */

struct xdr_reader xdr_reader(struct bytes bytes)
{
    static const uint8_t empty[1]; /* an empty view may have no address, and NULL + 0 is undefined */
    const uint8_t *at = bytes.data == NULL ? empty : bytes.data;
    return (struct xdr_reader){.at = at, .end = at + bytes.len};
}

static size_t left(const struct xdr_reader *reader)
{
    return (size_t)(reader->end - reader->at);
}

enum err xdr_u32(struct xdr_reader *reader, uint32_t *out)
{
    return xdr_count(reader, UINT32_MAX, out);
}

/* A signed integer may be written through its unsigned type (C17, 6.5). */
enum err xdr_i32(struct xdr_reader *reader, int32_t *out)
{
    return xdr_u32(reader, (uint32_t *)out);
}

enum err xdr_u64(struct xdr_reader *reader, uint64_t *out)
{
    if (left(reader) < 8)
        return ERR_XDR_TRUNCATED;
    *out = be64_get(reader->at);
    reader->at += 8;
    return ERR_OK;
}

enum err xdr_i64(struct xdr_reader *reader, int64_t *out)
{
    return xdr_u64(reader, (uint64_t *)out);
}

enum err xdr_bool(struct xdr_reader *reader, bool *out)
{
    uint32_t value;
    enum err e = xdr_count(reader, 1, &value);
    if (e == ERR_OK)
        *out = value == 1;
    return e;
}

enum err xdr_count(struct xdr_reader *reader, uint32_t max, uint32_t *out)
{
    if (left(reader) < 4)
        return ERR_XDR_TRUNCATED;
    uint32_t count = be32_get(reader->at);
    if (count > max)
        return ERR_XDR_INVALID;
    reader->at += 4;
    *out = count;
    return ERR_OK;
}

enum err xdr_opaque(struct xdr_reader *reader, uint8_t *out, size_t len)
{
    if (left(reader) < len)
        return ERR_XDR_TRUNCATED;
    memcpy(out, reader->at, len);
    reader->at += len;
    return ERR_OK;
}

enum err xdr_end(const struct xdr_reader *reader)
{
    return reader->at == reader->end ? ERR_OK : ERR_XDR_TRAILING;
}

/* ---- the walker */

/* A value that is being read, or an array whose elements are. */
struct frame {
    const struct xdr_step *next; /* of the container: where to continue after this value */
    const uint8_t *start;        /* of the value, or of the current element */
    uint32_t left;               /* elements after the current one */
    int type;                    /* of the value or element */
};

/* For each type its place in the list of those that are searched for, counted from 1; 0: it is not in it. */
struct places {
    uint8_t of[XDR_TYPE_COUNT];
};

/* Generated arms are sorted and mostly without gaps, so the guess is mostly right. */
static const struct xdr_arm *arm_of(const struct xdr_type_info *type, int32_t value)
{
    uint32_t guess = (uint32_t)value - (uint32_t)type->arms[0].value;
    if (guess < type->arm_count && type->arms[guess].value == value)
        return &type->arms[guess];
    for (uint32_t i = 0; i < type->arm_count; i++)
        if (type->arms[i].value == value)
            return &type->arms[i];
    return NULL;
}

static inline enum err skip(struct xdr_reader *in, uint64_t len)
{
    if (left(in) < len)
        return ERR_XDR_TRUNCATED;
    in->at += len;
    return ERR_OK;
}

static inline enum err opaque(struct xdr_reader *in, uint32_t max)
{
    uint32_t len;
    enum err e = xdr_count(in, max, &len);
    if (e != ERR_OK)
        return e;
    uint32_t padding = -len & 3;
    if (left(in) < (uint64_t)len + padding)
        return ERR_XDR_TRUNCATED;
    in->at += len;
    for (; padding != 0; padding--, in->at++)
        if (*in->at != 0)
            return ERR_XDR_INVALID;
    return ERR_OK;
}

static inline enum err choose(struct xdr_reader *in, uint32_t type, const struct xdr_step **step)
{
    if (left(in) < 4)
        return ERR_XDR_TRUNCATED;
    const struct xdr_arm *arm = arm_of(&xdr_types[type], (int32_t)be32_get(in->at));
    if (arm == NULL) {
        in->unknown = (enum xdr_type)type;
        return ERR_XDR_UNKNOWN_ARM;
    }
    in->at += 4;
    *step = &arm->step;
    return ERR_OK;
}

/*
 * Reads the bytes that belong to the step itself. *count values of the step's type follow them. For a union,
 * *step becomes the chosen arm.
 */
static inline enum err read_step(
    struct xdr_reader *in, const struct xdr_step **step, const struct places *places, uint32_t *count)
{
    *count = 0;
    for (;;) {
        const struct xdr_step *at = *step;
        enum err e;
        switch ((enum xdr_op)at->op) {
        case XDR_OP_BYTES:
            return skip(in, at->n);
        case XDR_OP_BOOL: {
            uint32_t value;
            return xdr_count(in, 1, &value);
        }
        case XDR_OP_OPAQUE:
            return opaque(in, at->n);
        case XDR_OP_ARRAY:
            e = xdr_count(in, at->n, count);
            if (e != ERR_OK || xdr_types[at->type].plain_size == 0)
                return e;
            e = skip(in, (uint64_t)*count * xdr_types[at->type].plain_size);
            *count = 0;
            return e;
        case XDR_OP_OPTION:
            return xdr_count(in, 1, count);
        case XDR_OP_UNION:
            if (places->of[at->type] == 0)
                break;
            /* needs a frame: found() gets its span */
            __attribute__((fallthrough));
        case XDR_OP_TYPE:
            *count = 1;
            return ERR_OK;
        case XDR_OP_ARMS:
        case XDR_OP_END:
            break;
        }
        if ((e = choose(in, at->type, step)) != ERR_OK)
            return e;
    }
}

/*
 * The interpreter. Nesting is kept in frames, so that hostile depth uses neither C stack nor heap. Every type
 * takes at least four bytes (the generator checks this), so the length of the input bounds the work.
 */
static enum err walk(struct xdr_reader *reader, enum xdr_type root, const struct places *places,
    const struct xdr_search *searches)
{
    /* Each frame is written before it is read. To zero all 64 KB at each call would cost more than to walk a
     * transaction. */
    __attribute__((uninitialized)) struct frame frames[XDR_MAX_DEPTH];
    struct frame *top = frames;
    struct xdr_reader in = *reader;
    const struct xdr_step *next = xdr_types[root].steps;
    enum err e = ERR_OK;

    *top = (struct frame){NULL, in.at, 0, (int)root};
    while (e == ERR_OK) {
        const struct xdr_step *step = next++;
        if (step->op != XDR_OP_END) {
            uint32_t count;
            e = read_step(&in, &step, places, &count);
            if (e != ERR_OK || count == 0)
                continue;
            if (top == &frames[XDR_MAX_DEPTH - 1]) {
                e = ERR_XDR_TOO_DEEP;
                continue;
            }
            *++top = (struct frame){next, in.at, count - 1, step->type};
            next = xdr_types[step->type].steps;
            continue;
        }
        const uint8_t place = places->of[top->type];
        if (place != 0)
            e = searches[place - 1].found(
                (struct bytes){top->start, (size_t)(in.at - top->start)}, searches[place - 1].context);
        if (top->left != 0) {
            top->left--;
            top->start = in.at;
            next = xdr_types[top->type].steps;
        } else if (top == frames) {
            break;
        } else {
            next = top->next;
            top--;
        }
    }
    *reader = in;
    return e;
}

enum err xdr_take(struct xdr_reader *reader, enum xdr_type type, struct bytes *span)
{
    static const struct places nowhere;
    const uint8_t *start = reader->at;
    enum err e = walk(reader, type, &nowhere, NULL);
    if (e == ERR_OK && span != NULL)
        *span = (struct bytes){start, (size_t)(reader->at - start)};
    return e;
}

enum err xdr_take_array(
    struct xdr_reader *reader, enum xdr_type type, uint32_t max, uint32_t *count, struct bytes *span)
{
    const uint8_t *start = reader->at;
    enum err e = xdr_count(reader, max, count);
    for (uint32_t i = 0; e == ERR_OK && i < *count; i++)
        e = xdr_take(reader, type, NULL);
    if (e == ERR_OK && span != NULL)
        *span = (struct bytes){start, (size_t)(reader->at - start)};
    return e;
}

enum err xdr_search(
    struct xdr_reader *reader, enum xdr_type type, const struct xdr_search *searches, size_t count)
{
    struct places places = {0};
    for (size_t i = 0; i < count; i++) {
        /* skip() passes over such values, also inside other values */
        if (xdr_types[searches[i].type].plain_size != 0 || i == UINT8_MAX)
            return ERR_INTERNAL;
        places.of[searches[i].type] = (uint8_t)(i + 1);
    }
    return walk(reader, type, &places, searches);
}

enum err xdr_each(
    struct xdr_reader *reader, enum xdr_type type, enum xdr_type wanted, xdr_found found, void *context)
{
    return xdr_search(reader, type, &(struct xdr_search){wanted, found, context}, 1);
}

enum err xdr_check(enum xdr_type type, struct bytes bytes)
{
    struct xdr_reader reader = xdr_reader(bytes);
    enum err e = xdr_take(&reader, type, NULL);
    return e != ERR_OK ? e : xdr_end(&reader);
}

const char *xdr_result_name(struct bytes result)
{
    const char *name = NULL;
    struct xdr_reader in = xdr_reader(result);
    struct xdr_step step = {XDR_OP_UNION, XDR_OperationResult, 0};
    while (step.op == XDR_OP_UNION && xdr_types[step.type].names != NULL && left(&in) >= 4) {
        const struct xdr_type_info *type = &xdr_types[step.type];
        const struct xdr_arm *arm = arm_of(type, (int32_t)be32_get(in.at));
        if (arm == NULL)
            return NULL;
        in.at += 4;
        name = type->names[arm - type->arms];
        step = arm->step;
    }
    return name;
}

const char *xdr_type_name(enum xdr_type type)
{
    return xdr_types[type].name;
}
