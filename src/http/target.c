/* Splits and decodes the target. What is not valid is refused, never repaired. */
#include "target.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* Decodes %XX in place. ERR_MALFORMED for a broken escape and for %00, which would end the string early. */
static enum err decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++, to++) {
        *to = *from;
        if (*from != '%')
            continue;
        uint8_t byte;
        if (from[1] == '\0' || hex_decode(from + 1, 2, &byte, 1) != ERR_OK || byte == 0)
            return ERR_MALFORMED;
        *to = (char)byte;
        from += 2;
    }
    *to = '\0';
    return ERR_OK;
}

static enum err add_parameter(struct target *target, char *pair, struct detail *detail)
{
    /* Forms and URLSearchParams send a space as a plus sign, and a plus sign as %2B. */
    for (char *plus = pair; (plus = strchr(plus, '+')) != NULL;)
        *plus = ' ';
    char *value = strchr(pair, '=');
    if (value == NULL)
        value = pair + strlen(pair);
    else
        *value++ = '\0';
    if (decode(pair) != ERR_OK || decode(value) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST, "The query has a broken percent escape.");
    if (target_query(target, pair) != NULL)
        return detail_set(detail, ERR_INVALID_REQUEST, "The query names a parameter twice.");
    if (target->query_count == TARGET_QUERY_MAX)
        return detail_set(detail, ERR_INVALID_REQUEST, "The query has too many parameters.");
    target->query[target->query_count].name = pair;
    target->query[target->query_count++].value = value;
    return ERR_OK;
}

enum err target_parse(struct target *target, const char *raw, struct detail *detail)
{
    *target = (struct target){.raw = mem_copy_text(raw), .path = mem_copy_text(raw)};
    char *query = strchr(target->path, '?');
    if (query != NULL)
        *query++ = '\0';
    if (raw[0] != '/')
        return detail_set(detail, ERR_INVALID_REQUEST, "The request target must be an absolute path.");
    for (const char *at = raw; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            return detail_set(
                detail, ERR_INVALID_REQUEST, "The request target has a byte that must be percent-encoded.");
    for (char *pair = query, *next; pair != NULL; pair = next) {
        next = strchr(pair, '&');
        if (next != NULL)
            *next++ = '\0';
        enum err e = pair[0] == '\0' ? ERR_OK : add_parameter(target, pair, detail);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

void target_wipe(struct target *target)
{
    free(target->raw);
    free(target->path);
    *target = (struct target){0};
}

const char *target_query(struct target *target, const char *name)
{
    for (size_t i = 0; i < target->query_count; i++)
        if (strcmp(target->query[i].name, name) == 0) {
            target->query[i].read = true;
            return target->query[i].value;
        }
    return NULL;
}
