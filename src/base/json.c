/* Reads a request's object and its members, and says of each what is wrong. jansson parses the text; nothing
 * is written here. */
#include "base/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

bool json_is_within(struct bytes text, unsigned depth_max, size_t values_max, struct detail *why)
{
    size_t depth = 0, values = 1;
    bool in_string = false;
    for (size_t i = 0; i < text.len; i++) {
        const uint8_t c = text.data[i];
        if (c == '"')
            in_string = !in_string;
        else if (c == '\\')
            i++; /* outside of strings it is no JSON */
        else if (!in_string) {
            const bool opens = c == '{' || c == '[';
            depth += opens;
            depth -= (c == '}' || c == ']') && depth > 0;
            values += opens || c == ',';
        }
        if (depth > depth_max)
            detail_write(why, "is nested more than %u levels deep", depth_max);
        else if (values > values_max)
            detail_write(why, "has more than %zu values", values_max);
        else
            continue;
        return false;
    }
    return true;
}

enum err json_read_object(struct bytes text, json_t **out, struct detail *detail)
{
    json_error_t error;
    struct detail why;
    *out = NULL;
    if (text.len == 0)
        return detail_set(detail, ERR_INVALID_JSON, "The body is empty; it must be a JSON object.");
    const uint8_t *nul = memchr(text.data, 0, text.len); /* jansson takes one after a number */
    if (nul != NULL)
        return detail_set(
            detail, ERR_INVALID_JSON, "The body is not JSON: a NUL at byte %td.", nul - text.data + 1);
    if (!json_is_within(text, JSON_READ_DEPTH, JSON_READ_VALUES, &why))
        return detail_set(detail, ERR_INVALID_JSON, "The body %s.", why.text);
    json_t *value =
        json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (value == NULL) { /* without the part of the body that jansson quotes */
        const char *quote = strstr(error.text, " near ");
        return detail_set(detail, ERR_INVALID_JSON, "The body is not JSON: %.*s at byte %d.",
            quote != NULL ? (int)(quote - error.text) : JSON_ERROR_TEXT_LENGTH, error.text, error.position);
    }
    if (!json_is_object(value)) {
        json_decref(value);
        return detail_set(detail, ERR_INVALID_JSON, "The body is JSON, but not an object.");
    }
    *out = value;
    return ERR_OK;
}

enum err json_read_only(const json_t *object, const char *const *names, size_t count, struct detail *detail)
{
    const char *key;
    json_t *value;
    char known[100] = "";
    for (size_t i = 0, len = 0; i < count && len < sizeof known; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s", i > 0 ? ", " : "", names[i]);
    json_object_foreach((json_t *)object, key, value)
    {
        size_t i = 0;
        while (i < count && strcmp(names[i], key) != 0)
            i++;
        if (i == count)
            return detail_set(detail, ERR_INVALID_REQUEST,
                "The body has an unknown member \"%.64s\"; the known ones are: %s.", key, known);
    }
    return ERR_OK;
}

bool json_read_has(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value != NULL && !json_is_null(value);
}

static enum err refuse(const json_t *object, const char *name, const char *wanted, struct detail *detail)
{
    if (!json_read_has(object, name))
        return detail_set(detail, ERR_INVALID_REQUEST, "%s is missing.", name);
    return detail_set(detail, ERR_INVALID_REQUEST, "%s must be %s.", name, wanted);
}

static enum err check_range(
    const char *name, uint64_t value, uint64_t min, uint64_t max, struct detail *detail)
{
    if (value >= min && value <= max)
        return ERR_OK;
    return detail_set(
        detail, ERR_INVALID_REQUEST, "%s must be from %" PRIu64 " to %" PRIu64 ".", name, min, max);
}

enum err json_read_text(const json_t *object, const char *name, const char **out, struct detail *detail)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return refuse(object, name, "a string", detail);
    *out = json_string_value(value);
    return ERR_OK;
}

enum err json_read_number(
    const json_t *object, const char *name, uint64_t min, uint64_t max, uint64_t *out, struct detail *detail)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return refuse(object, name, "a whole number, not negative", detail);
    *out = (uint64_t)json_integer_value(value);
    return check_range(name, *out, min, max, detail);
}

enum err json_read_decimal(
    const json_t *object, const char *name, uint64_t min, uint64_t max, uint64_t *out, struct detail *detail)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value) || text_to_u64(json_string_value(value), UINT64_MAX, out) != ERR_OK)
        return refuse(object, name, "a whole number in a string", detail);
    return check_range(name, *out, min, max, detail);
}

void json_free_at(json_t **object)
{
    json_decref(*object);
}
