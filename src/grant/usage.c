#include "usage.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"

static const char sql_lock[] = "SELECT fairway.lock_clients($1)";
static const char sql_read[] =
    "SELECT u.ordinal, u.open_leases, u.ahead_us, u.slots FROM fairway.read_usage($1) u";
static const char sql_use[] = "SELECT fairway.use_leases($1, $2, $3, $4)";

#define SECOND_US 1000000

static bool has_limits(const struct lease_limits *limits)
{
    return limits->open_leases > 0 || limits->leases_per_second > 0 || limits->pool_percent > 0;
}

static struct usage_client *find(struct usage *usage, const char *name)
{
    for (size_t i = 0; i < usage->count; i++)
        if (strcmp(usage->clients[i].name, name) == 0)
            return &usage->clients[i];
    return NULL;
}

void usage_init(struct usage *usage, struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct lease_request *request = grants[i]->request;
        if (!has_limits(&request->limits))
            continue;
        usage->of[i] = find(usage, request->client);
        if (usage->of[i] == NULL) {
            usage->of[i] = &usage->clients[usage->count];
            usage->names[usage->count++] = request->client;
            *usage->of[i] = (struct usage_client){.name = request->client, .limits = &request->limits};
        }
    }
    usage->read_params[0] = DB_TEXTS(usage->names, usage->count);
}

/* Both statements have the names of the clients as their only parameter. */
static struct db_statement about_clients(const struct usage *usage, const char *sql)
{
    if (usage->count == 0)
        return (struct db_statement){0};
    return (struct db_statement){sql, usage->read_params, ARRAY_LEN(usage->read_params)};
}

struct db_statement usage_lock_statement(const struct usage *usage)
{
    return about_clients(usage, sql_lock);
}

struct db_statement usage_read_statement(const struct usage *usage)
{
    return about_clients(usage, sql_read);
}

/* A share of the pool is at least one account. */
static void find_open_max(struct usage_client *client, int64_t slots)
{
    const struct lease_limits *limits = client->limits;
    int64_t share = slots * limits->pool_percent / 100;
    if (share == 0)
        share = 1;
    client->open_max = limits->open_leases;
    client->open_limit = "openLeases";
    if (limits->pool_percent > 0 && (client->open_max == 0 || share < client->open_max)) {
        client->open_max = share;
        client->open_limit = "poolPercent";
    }
}

enum err usage_read(struct usage *usage, const struct db_rows *rows, struct detail *detail)
{
    if (db_count(rows) != usage->count)
        return detail_set(detail, ERR_INTERNAL, "fairway.read_usage did not count every client");
    for (size_t row = 0; row < usage->count; row++) {
        struct usage_client *client = &usage->clients[db_i64(rows, row, 0) - 1];
        const int64_t ahead_us = db_i64(rows, row, 2), per_second = client->limits->leases_per_second;
        find_open_max(client, db_i64(rows, row, 3));
        client->open_left = client->open_max == 0 ? INT64_MAX : client->open_max - db_i64(rows, row, 1);
        client->rate_left = per_second == 0         ? INT64_MAX
                            : ahead_us >= SECOND_US ? 0
                                                    : (SECOND_US - ahead_us) * per_second / SECOND_US;
    }
    return ERR_OK;
}

enum err usage_admit(struct usage *usage, struct grant *const grants[], size_t i, struct detail *detail)
{
    const struct usage_client *client = usage->of[i];
    grants[i]->limit = NULL;
    if (client == NULL || (client->open_left > 0 && client->rate_left > 0))
        return ERR_OK;
    if (client->open_left <= 0) {
        grants[i]->limit = client->open_limit;
        return detail_set(detail, ERR_LIMIT_EXCEEDED, "%s: this client has %" PRId64 " open leases already.",
            client->open_limit, client->open_max - client->open_left);
    }
    grants[i]->limit = "leasesPerSecond";
    return detail_set(detail, ERR_LIMIT_EXCEEDED, "leasesPerSecond: this client may take %u leases a second.",
        client->limits->leases_per_second);
}

void usage_take(struct usage *usage, size_t i)
{
    struct usage_client *client = usage->of[i];
    if (client == NULL)
        return;
    client->open_left--;
    client->rate_left--;
}

/* The leases of these requests, by client of the batch. */
static void count_granted(const struct usage *usage, const struct lease_request *const requests[],
    size_t count, int64_t granted[static GRANT_BATCH_MAX])
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < usage->count; k++)
            granted[k] += strcmp(usage->clients[k].name, requests[i]->client) == 0;
}

struct db_statement usage_use_statement(
    struct usage *usage, const struct lease_request *const requests[], size_t count)
{
    int64_t granted[GRANT_BATCH_MAX] = {0};
    size_t used = 0;
    count_granted(usage, requests, count, granted);
    for (size_t i = 0; i < usage->count; i++) {
        const struct usage_client *client = &usage->clients[i];
        if (granted[i] == 0)
            continue;
        usage->names[used] = client->name;
        usage->granted[used] = granted[i];
        usage->open_max[used] = client->open_max;
        usage->per_second[used++] = client->limits->leases_per_second;
    }
    if (used == 0)
        return (struct db_statement){0};
    usage->use_params[0] = DB_TEXTS(usage->names, used);
    usage->use_params[1] = DB_I64S(usage->granted, used);
    usage->use_params[2] = DB_I64S(usage->open_max, used);
    usage->use_params[3] = DB_I64S(usage->per_second, used);
    return (struct db_statement){sql_use, usage->use_params, ARRAY_LEN(usage->use_params)};
}
