/* What the clients of one batch have open, as far as limits need it. Nothing here locks or writes: the
 * function that records the leases counts them. */
#include "limits/usage.h"

#include <string.h>

#include "base/mem.h"

/* A pool has as many accounts as slots; accounts that retired keep no slot. */
static const char sql_read[] = "SELECT n.ordinal, coalesce(u.open_leases, 0),"
                               " (SELECT coalesce(max(a.slot) + 1, 0)::int8 FROM fairway.channel_accounts a)"
                               " FROM unnest($1::text[]) WITH ORDINALITY n (client, ordinal)"
                               " LEFT JOIN LATERAL fairway.newest_client(n.client) u ON true";

static struct usage_client *find(struct usage *usage, const char *name)
{
    for (size_t i = 0; i < usage->count; i++)
        if (strcmp(usage->clients[i].name, name) == 0)
            return &usage->clients[i];
    return NULL;
}

void usage_add(struct usage *usage, size_t i, const char *name, const struct limits *limits)
{
    const bool limited = limits->most[LIMIT_OPEN_LEASES] > 0 || limits->most[LIMIT_POOL_PERCENT] > 0;
    if (name[0] == '\0' || !limited)
        return;
    usage->of[i] = find(usage, name);
    if (usage->of[i] != NULL)
        return;
    usage->of[i] = &usage->clients[usage->count];
    usage->names[usage->count++] = name;
    *usage->of[i] = (struct usage_client){.name = name, .limits = limits};
}

struct db_statement usage_statement(struct usage *usage)
{
    if (usage->count == 0)
        return (struct db_statement){0};
    usage->params[0] = DB_TEXTS(usage->names, usage->count);
    return (struct db_statement){sql_read, usage->params, ARRAY_LEN(usage->params)};
}

/* A share of the pool is at least one account. */
void usage_found(struct usage_client *client, int64_t open_leases, int64_t pool_accounts)
{
    const int64_t percent = client->limits->most[LIMIT_POOL_PERCENT];
    const int64_t share = pool_accounts * percent < 100 ? 1 : pool_accounts * percent / 100;
    client->open_max = client->limits->most[LIMIT_OPEN_LEASES];
    client->limit = LIMIT_OPEN_LEASES;
    if (percent > 0 && (client->open_max == 0 || share < client->open_max)) {
        client->open_max = share;
        client->limit = LIMIT_POOL_PERCENT;
    }
    client->left = client->open_max - open_leases;
}

enum err usage_read(struct usage *usage, const struct db_rows *rows, struct detail *detail)
{
    if (db_count(rows) != usage->count)
        return detail_set(detail, ERR_INTERNAL, "not every client of the batch was counted");
    for (size_t row = 0; row < usage->count; row++)
        usage_found(&usage->clients[db_i64(rows, row, 0) - 1], db_i64(rows, row, 1), db_i64(rows, row, 2));
    return ERR_OK;
}

bool usage_allows(const struct usage *usage, size_t i)
{
    return usage->of[i] == NULL || usage->of[i]->left > 0;
}

void usage_take(struct usage *usage, size_t i)
{
    if (usage->of[i] != NULL)
        usage->of[i]->left--;
}

int64_t usage_open_max(const struct usage *usage, size_t i)
{
    return usage->of[i] == NULL ? 0 : usage->of[i]->open_max;
}

enum limit usage_limit(const struct usage *usage, size_t i)
{
    return usage->of[i] == NULL ? LIMIT_NONE : usage->of[i]->limit;
}
