/* Parameters in binary form. No SQL is ever built from a value. */
#include "params.h"

#include <string.h>
#include <sysexits.h>

#include "base/log.h"

static const struct {
    enum params_pg_type type, item; /* item: of an array */
} types[] = {
    [DB_NULL] = {PG_UNKNOWN, 0},
    [DB_I64_] = {PG_INT8, 0},
    [DB_I32_] = {PG_INT4, 0},
    [DB_BOOL_] = {PG_BOOL, 0},
    [DB_TEXT_] = {PG_TEXT, 0},
    [DB_BYTEA_] = {PG_BYTEA, 0},
    [DB_I64S_] = {PG_INT8S, PG_INT8},
    [DB_TEXTS_] = {PG_TEXTS, PG_TEXT},
    [DB_BYTEAS_] = {PG_BYTEAS, PG_BYTEA},
};

static void add_number(struct buf *out, int64_t number)
{
    buf_add_u32(out, sizeof number);
    buf_add_u64(out, (uint64_t)number);
}

/* The bytes of a text or a bytea; NULL data: it is NULL. */
static struct bytes item_of(const struct db_param *param, size_t i)
{
    if (param->kind == DB_BYTEAS_)
        return ((const struct bytes *)param->as.array.items)[i];
    const char *text = ((const char *const *)param->as.array.items)[i];
    return (struct bytes){(const uint8_t *)text, text == NULL ? 0 : strlen(text)};
}

/* Returns whether the item is NULL. */
static bool add_item(struct buf *out, struct bytes item)
{
    buf_add_u32(out, item.data == NULL ? UINT32_MAX : (uint32_t)item.len);
    buf_add_bytes(out, item);
    return item.data == NULL;
}

/* The format of array_recv: number of dimensions, has-null flag, item type; length and lower bound of the one
 * dimension; the items. */
static void add_array(struct buf *out, const struct db_param *param)
{
    size_t count = param->as.array.count, flag_at = out->len + 4;
    bool any_null = false;
    buf_add_u32(out, count != 0);
    buf_add_u32(out, 0);
    buf_add_u32(out, types[param->kind].item);
    if (count == 0)
        return;
    buf_add_u32(out, (uint32_t)count);
    buf_add_u32(out, 1);
    for (size_t i = 0; i < count; i++)
        if (param->kind == DB_I64S_)
            add_number(out, ((const int64_t *)param->as.array.items)[i]);
        else
            any_null |= add_item(out, item_of(param, i));
    be32_put(out->data + flag_at, any_null);
}

static void add_value(struct buf *out, const struct db_param *param)
{
    switch (param->kind) {
    case DB_NULL:
        break;
    case DB_I64_:
        buf_add_u64(out, (uint64_t)param->as.i64);
        break;
    case DB_I32_:
        buf_add_u32(out, (uint32_t)param->as.i32);
        break;
    case DB_BOOL_:
        buf_add(out, &(uint8_t){param->as.boolean}, 1);
        break;
    case DB_TEXT_:
        buf_add(out, param->as.text, strlen(param->as.text));
        break;
    case DB_BYTEA_:
        buf_add_bytes(out, param->as.bytea);
        break;
    default:
        add_array(out, param);
    }
}

static bool is_null(const struct db_param *param)
{
    return param->kind == DB_NULL || (param->kind == DB_TEXT_ && param->as.text == NULL) ||
           (param->kind == DB_BYTEA_ && param->as.bytea.data == NULL);
}

void params_encode(struct params *params, const struct db_param from[], size_t count)
{
    size_t starts[DB_PARAMS_MAX];
    if (count > DB_PARAMS_MAX)
        log_fatal(EX_SOFTWARE, "a statement has too many parameters", "count=%zu", count);
    params->count = (int)count;
    buf_clear(&params->storage);
    buf_reserve(&params->storage, 1); /* a zero-length value needs an address, or it would be NULL */
    for (size_t i = 0; i < count; i++) {
        starts[i] = params->storage.len;
        if (!is_null(&from[i]))
            add_value(&params->storage, &from[i]);
        params->types[i] = types[from[i].kind].type;
        params->lengths[i] = (int)(params->storage.len - starts[i]);
        params->formats[i] = 1;
    }
    for (size_t i = 0; i < count; i++)
        params->values[i] = is_null(&from[i]) ? NULL : (const char *)params->storage.data + starts[i];
}

void params_free(struct params *params)
{
    buf_free(&params->storage);
}
