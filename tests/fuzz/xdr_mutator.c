#include "fuzz/xdr_mutator.h"

#include <string.h>

#include "base/bytes.h"
#include "xdr/schema.h"

enum {
    ARMS_MAX = 8192,
    PARTS_MAX = 8192,
    DEPTH_MAX = 200,
    MADE_DEPTH = 12 /* from here on, made values are as flat as possible */
};

/* ---- union arms, for libFuzzer */

__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t arm_counters[ARMS_MAX];
static uint32_t first_arm[XDR_TYPE_COUNT]; /* of each type, in arm_counters */
static uint32_t heights[XDR_TYPE_COUNT];   /* the least nesting of a value */

static uint32_t height_of_step(const struct xdr_step *step)
{
    return step->op == XDR_OP_TYPE || step->op == XDR_OP_UNION ? heights[step->type] : 0;
}

static uint32_t height_of(const struct xdr_type_info *type)
{
    uint32_t height = type->arm_count > 0 ? DEPTH_MAX : 0;
    for (uint32_t i = 0; i < type->arm_count; i++)
        if (height_of_step(&type->arms[i].step) < height)
            height = height_of_step(&type->arms[i].step);
    for (const struct xdr_step *step = type->steps; type->arm_count == 0 && step->op != XDR_OP_END; step++)
        if (height_of_step(step) > height)
            height = height_of_step(step);
    return height + 1;
}

static void prepare(void)
{
    uint32_t arms = 0;
    if (heights[0] != 0)
        return;
    for (int i = 0; i < XDR_TYPE_COUNT; i++) {
        first_arm[i] = arms;
        arms += xdr_types[i].arm_count;
        heights[i] = DEPTH_MAX;
    }
    RULE(arms <= ARMS_MAX);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < XDR_TYPE_COUNT; i++) {
            uint32_t height = height_of(&xdr_types[i]);
            changed |= height < heights[i];
            heights[i] = height < heights[i] ? height : heights[i];
        }
    }
}

/* ---- the parts of a value */

struct part {
    const struct xdr_step *step;
    size_t start, end; /* end 0: it could not be read to its end */
};

struct parts {
    const uint8_t *data;
    size_t size, at;
    struct part *list; /* NULL: only count arms */
    size_t count;
};

static bool read_type(struct parts *parts, uint32_t type, unsigned depth);

static bool skip(struct parts *parts, size_t len)
{
    if (parts->size - parts->at < len)
        return false;
    parts->at += len;
    return true;
}

static bool read_word(struct parts *parts, uint32_t *out)
{
    if (parts->size - parts->at < 4)
        return false;
    *out = be32_get(parts->data + parts->at);
    return skip(parts, 4);
}

static bool read_content(struct parts *parts, const struct xdr_step *step, unsigned depth)
{
    uint32_t n = 1;
    switch ((enum xdr_op)step->op) {
    case XDR_OP_BYTES:
        return skip(parts, step->n);
    case XDR_OP_BOOL:
        return skip(parts, 4);
    case XDR_OP_OPAQUE:
        return read_word(parts, &n) && n <= step->n && skip(parts, ((size_t)n + 3) & ~(size_t)3);
    case XDR_OP_ARRAY:
    case XDR_OP_OPTION:
        if (!read_word(parts, &n) || (step->op == XDR_OP_ARRAY ? n > step->n : n > 1))
            return false;
        __attribute__((fallthrough));
    case XDR_OP_TYPE:
    case XDR_OP_UNION:
        for (; n > 0; n--)
            if (!read_type(parts, step->type, depth + 1))
                return false;
        return true;
    case XDR_OP_ARMS:
    case XDR_OP_END:
        break;
    }
    return true;
}

static bool read_arms(struct parts *parts, uint32_t type, unsigned depth);

static bool read_step(struct parts *parts, const struct xdr_step *step, unsigned depth)
{
    size_t index = parts->count, start = parts->at;
    if (parts->list != NULL && index < PARTS_MAX)
        parts->list[parts->count++] = (struct part){step, start, 0};
    bool whole =
        step->op == XDR_OP_ARMS ? read_arms(parts, step->type, depth) : read_content(parts, step, depth);
    if (whole && parts->list != NULL && index < PARTS_MAX)
        parts->list[index].end = parts->at;
    return whole;
}

static bool read_arms(struct parts *parts, uint32_t type, unsigned depth)
{
    uint32_t value;
    if (!read_word(parts, &value))
        return false;
    for (uint32_t i = 0; i < xdr_types[type].arm_count; i++)
        if (xdr_types[type].arms[i].value == (int32_t)value) {
            uint8_t *counter = &arm_counters[first_arm[type] + i];
            *counter = (uint8_t)(*counter + (*counter < 255));
            return read_step(parts, &xdr_types[type].arms[i].step, depth);
        }
    return false;
}

static bool read_type(struct parts *parts, uint32_t type, unsigned depth)
{
    if (depth > DEPTH_MAX)
        return false;
    for (const struct xdr_step *step = xdr_types[type].steps; step->op != XDR_OP_END; step++)
        if (!read_step(parts, step, depth))
            return false;
    return true;
}

void xdr_count_arms(enum xdr_type type, const uint8_t *data, size_t size)
{
    prepare();
    struct parts parts = {.data = data, .size = size};
    read_type(&parts, type, 0);
}

/* ---- new values */

struct maker {
    uint64_t random;
    uint8_t out[XDR_MADE_MAX];
    size_t len;
};

static uint32_t below(struct maker *maker, uint32_t limit)
{
    maker->random ^= maker->random << 13;
    maker->random ^= maker->random >> 7;
    maker->random ^= maker->random << 17;
    return (uint32_t)((maker->random >> 16) % limit);
}

static void add(struct maker *maker, const void *data, size_t len)
{
    if (len > XDR_MADE_MAX - maker->len)
        len = XDR_MADE_MAX - maker->len;
    if (len > 0)
        memcpy(maker->out + maker->len, data, len);
    maker->len += len;
}

static void add_word(struct maker *maker, uint32_t value)
{
    uint8_t word[4];
    be32_put(word, value);
    add(maker, word, sizeof word);
}

/* Integers at their limits; of keys and hashes only a few, so that two of them are often the same. */
static void make_bytes(struct maker *maker, uint32_t len)
{
    static const uint32_t words[] = {0, 0, 1, 2, 100, 200, INT32_MAX, 0x80000000, UINT32_MAX, UINT32_MAX - 1};
    uint8_t key[32];
    for (; len >= 32; len -= 32) {
        memset(key, (int)below(maker, 4), sizeof key);
        add(maker, key, sizeof key);
    }
    for (; len >= 4; len -= 4)
        add_word(maker, below(maker, 4) > 0 ? words[below(maker, sizeof words / sizeof *words)]
                                            : below(maker, UINT32_MAX));
    add(maker, "\0\0\0", len);
}

static void make_opaque(struct maker *maker, uint32_t max)
{
    uint32_t len = below(maker, 8) == 0 ? below(maker, 200) : below(maker, 8) == 0 ? 64 : below(maker, 9);
    len = len < max ? len : max;
    add_word(maker, len);
    for (uint32_t i = 0; i < len; i++)
        add(maker, &(uint8_t){(uint8_t)below(maker, 256)}, 1);
    add(maker, "\0\0\0", -len & 3);
}

static void make_type(struct maker *maker, uint32_t type, unsigned depth);

static uint32_t how_many(struct maker *maker, const struct xdr_step *step, unsigned depth)
{
    if (depth >= MADE_DEPTH || maker->len > XDR_MADE_MAX / 2)
        return 0;
    if (step->op == XDR_OP_OPTION)
        return below(maker, 2);
    uint32_t count = below(maker, 30) == 0 ? below(maker, 22) : below(maker, 4);
    return count < step->n ? count : step->n;
}

static void make_step(struct maker *maker, const struct xdr_step *step, unsigned depth)
{
    uint32_t count = 1;
    switch ((enum xdr_op)step->op) {
    case XDR_OP_BYTES:
        make_bytes(maker, step->n);
        break;
    case XDR_OP_BOOL:
        add_word(maker, below(maker, 2));
        break;
    case XDR_OP_OPAQUE:
        make_opaque(maker, step->n);
        break;
    case XDR_OP_ARRAY:
    case XDR_OP_OPTION:
        count = how_many(maker, step, depth);
        add_word(maker, count);
        __attribute__((fallthrough));
    case XDR_OP_TYPE:
    case XDR_OP_UNION:
        for (; count > 0; count--)
            make_type(maker, step->type, depth + 1);
        break;
    case XDR_OP_ARMS: {
        const struct xdr_type_info *type = &xdr_types[step->type];
        uint32_t chosen = below(maker, type->arm_count);
        for (uint32_t i = 0; depth >= MADE_DEPTH && i < type->arm_count; i++)
            if (height_of_step(&type->arms[i].step) < height_of_step(&type->arms[chosen].step))
                chosen = i;
        add_word(maker, (uint32_t)type->arms[chosen].value);
        make_step(maker, &type->arms[chosen].step, depth);
        break;
    }
    case XDR_OP_END:
        break;
    }
}

static void make_type(struct maker *maker, uint32_t type, unsigned depth)
{
    for (const struct xdr_step *step = xdr_types[type].steps; step->op != XDR_OP_END; step++)
        make_step(maker, step, depth);
}

size_t xdr_make(enum xdr_type type, uint8_t out[XDR_MADE_MAX], unsigned seed)
{
    static struct maker maker;
    prepare();
    maker.random = seed * 0x9e3779b97f4a7c15u + 1;
    maker.len = 0;
    make_type(&maker, type, 0);
    memcpy(out, maker.out, maker.len);
    return maker.len;
}

/* ---- mutation */

/* Puts what the maker has in place of the bytes from start to end. */
static size_t splice(
    const struct maker *maker, uint8_t *data, size_t size, size_t max, size_t start, size_t end)
{
    size_t new_size = size - (end - start) + maker->len;
    if (new_size > max)
        return size;
    memmove(data + start + maker->len, data + end, size - end);
    memcpy(data + start, maker->out, maker->len);
    return new_size;
}

/* One more or one less element, or a new one in place of all. */
static void change_array(struct maker *maker, const struct part *array, const uint8_t *data)
{
    uint32_t count = be32_get(data + array->start);
    if (count >= array->step->n || below(maker, 3) == 0) {
        make_step(maker, array->step, 1);
        return;
    }
    add_word(maker, count + 1);
    add(maker, data + array->start + 4, array->end - array->start - 4);
    make_type(maker, array->step->type, 4);
}

static void change_part(struct maker *maker, const struct parts *parts, const struct part *part)
{
    const struct part *other = &parts->list[below(maker, (uint32_t)parts->count)];
    bool same = other->end > 0 && other->step->op == part->step->op &&
                other->step->type == part->step->type && other->step->n == part->step->n;
    if (same)
        add(maker, parts->data + other->start, other->end - other->start);
    else if (part->step->op == XDR_OP_ARRAY)
        change_array(maker, part, parts->data);
    else
        make_step(maker, part->step, below(maker, MADE_DEPTH));
}

size_t xdr_mutate(enum xdr_type type, uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static struct part list[PARTS_MAX];
    static struct maker maker;
    prepare();
    maker.random = seed * 0x9e3779b97f4a7c15u + 1;
    maker.len = 0;
    struct parts parts = {.data = data, .size = size, .list = list};
    if (below(&maker, 16) == 0)
        return LLVMFuzzerMutate(data, size, max);
    read_type(&parts, type, 0);
    if (parts.count == 0 || below(&maker, 200) == 0) {
        make_type(&maker, type, 0);
        return splice(&maker, data, size, max, 0, size);
    }
    for (unsigned tries = 0; tries < 10; tries++) {
        const struct part *part = &list[below(&maker, (uint32_t)parts.count)];
        if (part->end == 0)
            continue;
        change_part(&maker, &parts, part);
        return splice(&maker, data, size, max, part->start, part->end);
    }
    return LLVMFuzzerMutate(data, size, max);
}
