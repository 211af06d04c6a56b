/* The body of a request: the input. It is read as jansson reads it, within our limits. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "base/json.h"

/* Whether jansson refuses the text too, or it exceeds one of our limits. */
static bool refused_rightly(const uint8_t *data, size_t size, const struct detail *detail)
{
    json_t *value = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    const bool object = json_is_object(value);
    json_decref(value);
    return !object || memchr(data, 0, size) != NULL || strstr(detail->text, "levels deep") != NULL ||
           strstr(detail->text, "values") != NULL;
}

static bool equals_jansson(const uint8_t *data, size_t size, const json_t *object)
{
    json_t *value = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    const bool equal = value != NULL && json_equal(value, object);
    json_decref(value);
    return equal;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"transactionXdr", "timeoutSeconds", "maxFee"};
    AUTO_JSON json_t *object = NULL;
    struct detail detail = {0};
    const char *text;
    uint64_t number;
    enum err e = json_read_object((struct bytes){data, size}, &object, &detail);
    RULE((e == ERR_OK) == (object != NULL));
    RULE(e == ERR_OK || (e == ERR_INVALID_JSON && detail.text[0] != '\0'));
    RULE(e == ERR_OK ? equals_jansson(data, size, object) : refused_rightly(data, size, &detail));
    if (e != ERR_OK)
        return 0;
    RULE(json_is_object(object) && json_object_size(object) <= JSON_READ_VALUES);
    e = json_read_only(object, names, ARRAY_LEN(names), &detail);
    RULE(e == ERR_OK || e == ERR_INVALID_REQUEST);
    if (json_read_text(object, names[0], &text, &detail) == ERR_OK)
        RULE(memchr(data, 0, size) == NULL && strlen(text) <= size);
    if (json_read_number(object, names[1], 20, 300, &number, &detail) == ERR_OK)
        RULE(number >= 20 && number <= 300);
    if (json_read_decimal(object, names[2], 1, INT64_MAX, &number, &detail) == ERR_OK)
        RULE(number >= 1 && number <= INT64_MAX);
    return 0;
}
