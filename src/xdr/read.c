/* Reads XDR values, each within its bounds, and names types. Nothing is allocated. */
#include "xdr/xdr.h"

#include <string.h>

#include "schema.h"

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
    if (left(reader) < 4)
        return ERR_XDR_TRUNCATED;
    *out = be32_get(reader->at);
    reader->at += 4;
    return ERR_OK;
}

enum err xdr_i32(struct xdr_reader *reader, int32_t *out)
{
    uint32_t value;
    enum err e = xdr_u32(reader, &value);
    if (e == ERR_OK)
        *out = (int32_t)value;
    return e;
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
    uint64_t value;
    enum err e = xdr_u64(reader, &value);
    if (e == ERR_OK)
        *out = (int64_t)value;
    return e;
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

const char *xdr_type_name(enum xdr_type type)
{
    return xdr_types[type].name;
}
