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

void xdr_fail(struct xdr_reader *reader, enum err e)
{
    if (reader->e == ERR_OK)
        reader->e = e;
}

/* Returns the next len bytes and advances past them; NULL after an error. */
static inline const uint8_t *advance(struct xdr_reader *reader, uint64_t len)
{
    const uint8_t *start = reader->at;
    if (reader->e != ERR_OK)
        return NULL;
    if (left(reader) < len) {
        reader->e = ERR_XDR_TRUNCATED;
        return NULL;
    }
    reader->at += len;
    return start;
}

uint32_t xdr_u32(struct xdr_reader *reader)
{
    return xdr_count(reader, UINT32_MAX);
}

int32_t xdr_i32(struct xdr_reader *reader)
{
    return (int32_t)xdr_u32(reader);
}

uint64_t xdr_u64(struct xdr_reader *reader)
{
    const uint8_t *value = advance(reader, 8);
    return value != NULL ? be64_get(value) : 0;
}

int64_t xdr_i64(struct xdr_reader *reader)
{
    return (int64_t)xdr_u64(reader);
}

bool xdr_bool(struct xdr_reader *reader)
{
    return xdr_count(reader, 1) == 1;
}

uint32_t xdr_count(struct xdr_reader *reader, uint32_t max)
{
    const uint8_t *start = advance(reader, 4);
    const uint32_t count = start != NULL ? be32_get(start) : 0;
    if (count <= max)
        return count;
    reader->at = start;
    reader->e = ERR_XDR_INVALID;
    return 0;
}

void xdr_opaque(struct xdr_reader *reader, uint8_t *out, size_t len)
{
    const uint8_t *start = advance(reader, len);
    if (start != NULL)
        memcpy(out, start, len);
    else
        memset(out, 0, len);
}

enum err xdr_end(const struct xdr_reader *reader)
{
    return reader->e != ERR_OK || reader->at == reader->end ? reader->e : ERR_XDR_TRAILING;
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

static inline void opaque(struct xdr_reader *in, uint32_t max)
{
    const uint32_t len = xdr_count(in, max);
    uint32_t padding = -len & 3;
    if (advance(in, (uint64_t)len + padding) == NULL)
        return;
    for (; padding != 0; padding--)
        if (in->at[-(ptrdiff_t)padding] != 0) {
            in->at -= padding;
            in->e = ERR_XDR_INVALID;
            return;
        }
}

/* NULL after an error. */
static inline const struct xdr_step *choose(struct xdr_reader *in, uint32_t type)
{
    const uint8_t *start = advance(in, 4);
    const struct xdr_arm *arm = start != NULL ? arm_of(&xdr_types[type], (int32_t)be32_get(start)) : NULL;
    if (arm != NULL)
        return &arm->step;
    if (start != NULL) {
        in->at = start;
        in->e = ERR_XDR_UNKNOWN_ARM;
        in->unknown = (enum xdr_type)type;
    }
    return NULL;
}

/*
 * Reads the bytes that belong to the step itself, and returns how many values of the step's type follow them.
 * For a union, *step becomes the chosen arm.
 */
static inline uint32_t read_step(
    struct xdr_reader *in, const struct xdr_step **step, const struct places *places)
{
    for (; *step != NULL; *step = choose(in, (*step)->type)) {
        const struct xdr_step *at = *step;
        uint32_t count;
        switch ((enum xdr_op)at->op) {
        case XDR_OP_BYTES:
            advance(in, at->n);
            return 0;
        case XDR_OP_BOOL:
            xdr_count(in, 1);
            return 0;
        case XDR_OP_OPAQUE:
            opaque(in, at->n);
            return 0;
        case XDR_OP_ARRAY:
            count = xdr_count(in, at->n);
            if (xdr_types[at->type].plain_size == 0)
                return count;
            advance(in, (uint64_t)count * xdr_types[at->type].plain_size);
            return 0;
        case XDR_OP_OPTION:
            return xdr_count(in, 1);
        case XDR_OP_UNION:
            if (places->of[at->type] == 0)
                break;
            /* needs a frame: found() gets its span */
            __attribute__((fallthrough));
        case XDR_OP_TYPE:
            return 1;
        case XDR_OP_ARMS:
        case XDR_OP_END:
            break;
        }
    }
    return 0;
}

/*
 * The interpreter. Nesting is kept in frames, so that hostile depth uses neither C stack nor heap. Every type
 * takes at least four bytes (the generator checks this), so the length of the input bounds the work.
 */
static void walk(struct xdr_reader *reader, enum xdr_type root, const struct places *places,
    const struct xdr_search *searches)
{
    /* Each frame is written before it is read. To zero all 64 KB at each call would cost more than to walk a
     * transaction. */
    __attribute__((uninitialized)) struct frame frames[XDR_MAX_DEPTH];
    struct frame *top = frames;
    struct xdr_reader in = *reader;
    const struct xdr_step *next = xdr_types[root].steps;

    *top = (struct frame){NULL, in.at, 0, (int)root};
    while (in.e == ERR_OK) {
        const struct xdr_step *step = next++;
        if (step->op != XDR_OP_END) {
            const uint32_t count = read_step(&in, &step, places);
            if (count == 0)
                continue;
            if (top == &frames[XDR_MAX_DEPTH - 1]) {
                in.e = ERR_XDR_TOO_DEEP;
                continue;
            }
            *++top = (struct frame){next, in.at, count - 1, step->type};
            next = xdr_types[step->type].steps;
            continue;
        }
        const uint8_t place = places->of[top->type];
        if (place != 0)
            in.e = searches[place - 1].found(
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
}

/* What has been read since start; {0} after an error. */
static struct bytes span_from(const uint8_t *start, const struct xdr_reader *reader)
{
    return reader->e == ERR_OK ? (struct bytes){start, (size_t)(reader->at - start)} : (struct bytes){0};
}

struct bytes xdr_take(struct xdr_reader *reader, enum xdr_type type)
{
    static const struct places nowhere;
    const uint8_t *start = reader->at;
    walk(reader, type, &nowhere, NULL);
    return span_from(start, reader);
}

struct bytes xdr_take_array(struct xdr_reader *reader, enum xdr_type type, uint32_t max, uint32_t *count)
{
    const uint8_t *start = reader->at;
    *count = xdr_count(reader, max);
    for (uint32_t i = 0; reader->e == ERR_OK && i < *count; i++)
        xdr_take(reader, type);
    return span_from(start, reader);
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
    walk(reader, type, &places, searches);
    return reader->e;
}

enum err xdr_each(
    struct xdr_reader *reader, enum xdr_type type, enum xdr_type wanted, xdr_found found, void *context)
{
    return xdr_search(reader, type, &(struct xdr_search){wanted, found, context}, 1);
}

enum err xdr_check(enum xdr_type type, struct bytes bytes)
{
    struct xdr_reader reader = xdr_reader(bytes);
    xdr_take(&reader, type);
    return xdr_end(&reader);
}

const char *xdr_value_name(enum xdr_type type, int32_t value)
{
    const struct xdr_arm *arm = arm_of(&xdr_types[type], value);
    return arm == NULL ? NULL : xdr_types[type].names[arm - xdr_types[type].arms];
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
