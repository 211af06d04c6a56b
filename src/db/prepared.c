/* The prepared statements of a session. Nothing of them outlives it. */
#include "prepared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool fits(const struct prepared_statement *item, const char *sql, const struct params *params)
{
    return strcmp(item->sql, sql) == 0 && item->type_count == params->count &&
           (params->count == 0 ||
               memcmp(item->types, params->types, (size_t)params->count * sizeof params->types[0]) == 0);
}

size_t prepared_find(struct prepared *prepared, const char *sql, const struct params *params)
{
    for (size_t i = 0; i < prepared->count; i++)
        if (fits(&prepared->items[i], sql, params))
            return i;
    size_t at = prepared->count++;
    prepared->items = mem_grow(prepared->items, prepared->count, sizeof prepared->items[0]);
    struct prepared_statement *item = &prepared->items[at];
    *item = (struct prepared_statement){.sql = mem_copy_text(sql), .type_count = params->count};
    item->types = mem_copy(params->types, (size_t)params->count * sizeof params->types[0]);
    snprintf(item->name, sizeof item->name, "fairway%zu", at);
    return at;
}

void prepared_forget(struct prepared *prepared)
{
    for (size_t i = 0; i < prepared->count; i++)
        free(prepared->items[i].sql), free(prepared->items[i].types);
    free(prepared->items);
    *prepared = (struct prepared){0};
}

void prepared_settle(struct prepared *prepared)
{
    for (size_t i = 0; i < prepared->count; i++)
        if (prepared->items[i].state == PREPARED_SENT)
            prepared->items[i].state = PREPARED_NOT;
}
