/* The table of clients' limits, and the pure decisions about them. Nothing is counted here and no clock is
 * read. */
#include "limits/limits.h"

#include <inttypes.h>
#include <string.h>

#define DAY_S 86400

static const struct {
    const char *name;
    int64_t maximum; /* in CLIENTS_FILE; 0: it is not there */
    enum err error;
    enum {
        AFTER_SECOND, /* for requestsPerSecond api/client_loads computes the time */
        AFTER_LEDGER, /* the next one may end a lease */
        AFTER_MIDNIGHT,
        NEVER
    } again;
    const char *unit; /* "this client may have 3 ..." */
} table[LIMIT_COUNT] = {
    [LIMIT_NONE] = {"", 0, ERR_OK, NEVER, ""},
    [LIMIT_OPEN_LEASES] = {"openLeases", 1000000, ERR_LIMIT_EXCEEDED, AFTER_LEDGER, "open leases"},
    [LIMIT_POOL_PERCENT] = {"poolPercent", 100, ERR_LIMIT_EXCEEDED, AFTER_LEDGER,
        "% of the pool's accounts in open leases"},
    [LIMIT_CONTRACT_PERCENT] = {"contractPercent", 100, ERR_LIMIT_EXCEEDED, AFTER_LEDGER,
        "% of the pool's accounts in open leases that call one contract"},
    [LIMIT_REQUESTS_PER_SECOND] = {"requestsPerSecond", 100000, ERR_LIMIT_EXCEEDED, AFTER_SECOND,
        "requests a second at each replica; each 4096 bytes of a body count as one more"},
    [LIMIT_REQUESTS_IN_FLIGHT] = {"requestsInFlight", 0, ERR_LIMIT_EXCEEDED, AFTER_SECOND,
        "requests in progress at each replica"},
    [LIMIT_WAITS] = {"waits", 100000, ERR_LIMIT_EXCEEDED, AFTER_SECOND,
        "requests that wait for a ledger at each replica"},
    [LIMIT_FEE_BUMPS] = {"feeBumps", 1000, ERR_LIMIT_REACHED, NEVER,
        "fee bumps of one lease; submit one of them, or ask for the same one again"},
    [LIMIT_STROOPS_PER_DAY] = {"stroopsPerDay", INT64_MAX, ERR_LIMIT_EXCEEDED, AFTER_MIDNIGHT,
        "stroops a day (UTC) in fee bumps, of each open lease the highest"},
};

const struct limits limits_default = {.most = {[LIMIT_FEE_BUMPS] = 50}};

const char *limit_name(enum limit limit)
{
    return table[limit].name;
}

enum limit limit_of(const char *name)
{
    for (enum limit i = LIMIT_NONE + 1; i < LIMIT_COUNT; i++)
        if (table[i].maximum > 0 && strcmp(table[i].name, name) == 0)
            return i;
    return LIMIT_NONE;
}

int64_t limit_maximum(enum limit limit)
{
    return table[limit].maximum;
}

enum err limit_refuse(enum limit limit, const struct limits *limits, struct detail *detail)
{
    if (limit == LIMIT_NONE)
        return ERR_OK;
    return detail_set(detail, table[limit].error, "%s: this client may have %" PRId64 " %s.",
        table[limit].name, limits->most[limit], table[limit].unit);
}

int limit_retry_after_s(enum limit limit, int64_t now_s, unsigned ledger_ms)
{
    switch (table[limit].again) {
    case AFTER_SECOND:
        return 1;
    case AFTER_LEDGER:
        return (int)(ledger_ms + 999) / 1000;
    case AFTER_MIDNIGHT:
        return (int)(DAY_S - now_s % DAY_S);
    case NEVER:
        break;
    }
    return 0;
}

enum limit limit_of_fee_bump(const struct limits *limits, int64_t fee_stroops, int64_t bumps,
    int64_t highest_stroops, int64_t spent_stroops)
{
    const int64_t added = fee_stroops - highest_stroops;
    const int64_t most = limits->most[LIMIT_FEE_BUMPS], day = limits->most[LIMIT_STROOPS_PER_DAY];
    if (bumps > 0 && added == 0)
        return LIMIT_NONE;
    if (most > 0 && bumps >= most)
        return LIMIT_FEE_BUMPS;
    return day > 0 && added > 0 && added > day - spent_stroops ? LIMIT_STROOPS_PER_DAY : LIMIT_NONE;
}
