/* Reads members of results. No value is believed beyond its form. */
#include "field.h"

#include "base/text.h"

bool field_number(const json_t *value, uint64_t max, uint64_t *out)
{
    if (json_is_string(value))
        return text_to_u64(json_string_value(value), max, out) == ERR_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > max)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static enum err malformed(const char *name, struct detail *detail)
{
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "%s is missing or malformed in the response", name);
}

enum err field_u32(const json_t *object, const char *name, uint32_t *out, struct detail *detail)
{
    uint64_t wide;
    if (!field_number(json_object_get(object, name), UINT32_MAX, &wide))
        return malformed(name, detail);
    *out = (uint32_t)wide;
    return ERR_OK;
}

enum err field_text(const json_t *object, const char *name, const char **out, struct detail *detail)
{
    *out = json_string_value(json_object_get(object, name));
    return *out != NULL ? ERR_OK : malformed(name, detail);
}

enum err field_xdr(const json_t *object, const char *name, struct buf *out, struct detail *detail)
{
    const json_t *text = json_object_get(object, name);
    if (!json_is_string(text) ||
        base64_decode(json_string_value(text), json_string_length(text), out) != ERR_OK)
        return malformed(name, detail);
    return ERR_OK;
}
