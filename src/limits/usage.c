/* What the clients of one batch have open, as far as limits need it. Nothing here locks or writes: the
 * function that records the leases counts them. */
#include "limits/usage.h"

#include <string.h>

#include "base/mem.h"

/* A pool has as many accounts as slots; accounts that retired keep no slot. */
static const char sql_read[] =
    "SELECT n.ordinal, coalesce(u.open_leases, 0),"
    " (SELECT coalesce(max(a.slot) + 1, 0)::int8 FROM fairway.channel_accounts a)"
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY n (client, contract, ordinal)"
    " LEFT JOIN LATERAL fairway.newest_client(coalesce(fairway.contract_row(n.client, n.contract), "
    "n.client)) u"
    " ON true";

/* The row of this client and contract (NULL: of all leases), which is made when it is missing. */
static struct usage_row *row_of(
    struct usage *usage, const char *client, const char *contract, const struct limits *limits)
{
    for (size_t i = 0; i < usage->count; i++) {
        struct usage_row *row = &usage->rows[i];
        if (strcmp(row->client, client) == 0 && (row->contract == NULL) == (contract == NULL) &&
            (contract == NULL || strcmp(row->contract, contract) == 0))
            return row;
    }
    usage->clients[usage->count] = client;
    usage->contracts[usage->count] = contract;
    usage->rows[usage->count] = (struct usage_row){.client = client, .contract = contract, .limits = limits};
    return &usage->rows[usage->count++];
}

void usage_add(
    struct usage *usage, size_t i, const char *client, const char *contract, const struct limits *limits)
{
    if (client[0] == '\0')
        return;
    if (limits->most[LIMIT_OPEN_LEASES] > 0 || limits->most[LIMIT_POOL_PERCENT] > 0)
        usage->of_client[i] = row_of(usage, client, NULL, limits);
    if (contract[0] != '\0' && limits->most[LIMIT_CONTRACT_PERCENT] > 0)
        usage->of_contract[i] = row_of(usage, client, contract, limits);
}

struct db_statement usage_statement(struct usage *usage)
{
    if (usage->count == 0)
        return (struct db_statement){0};
    usage->params[0] = DB_TEXTS(usage->clients, usage->count);
    usage->params[1] = DB_TEXTS(usage->contracts, usage->count);
    return (struct db_statement){sql_read, usage->params, ARRAY_LEN(usage->params)};
}

/* A share of the pool is at least one account. */
void usage_found(struct usage_row *row, int64_t open_leases, int64_t pool_accounts)
{
    const enum limit by_share = row->contract == NULL ? LIMIT_POOL_PERCENT : LIMIT_CONTRACT_PERCENT;
    const int64_t percent = row->limits->most[by_share];
    const int64_t share = pool_accounts * percent < 100 ? 1 : pool_accounts * percent / 100;
    row->open_max = row->contract == NULL ? row->limits->most[LIMIT_OPEN_LEASES] : 0;
    row->limit = LIMIT_OPEN_LEASES;
    if (percent > 0 && (row->open_max == 0 || share < row->open_max)) {
        row->open_max = share;
        row->limit = by_share;
    }
    row->left = row->open_max - open_leases;
}

void usage_read(struct usage *usage, const struct db_rows *rows)
{
    for (size_t row = 0; row < usage->count; row++)
        usage_found(
            &usage->rows[db_ordinal(rows, row, 0, usage->count)], db_i64(rows, row, 1), db_i64(rows, row, 2));
}

enum limit usage_refuses(const struct usage *usage, size_t i)
{
    const struct usage_row *const client = usage->of_client[i], *const contract = usage->of_contract[i];
    if (client != NULL && client->left <= 0)
        return client->limit;
    return contract != NULL && contract->left <= 0 ? contract->limit : LIMIT_NONE;
}

void usage_take(struct usage *usage, size_t i)
{
    if (usage->of_client[i] != NULL)
        usage->of_client[i]->left--;
    if (usage->of_contract[i] != NULL)
        usage->of_contract[i]->left--;
}

int64_t usage_most(const struct usage_row *row)
{
    return row == NULL ? 0 : row->open_max;
}
