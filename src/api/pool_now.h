/* The pool, and what a request for a lease would be told now: the same for /v1/pool, /readyz and /metrics. */
#ifndef FAIRWAY_API_POOL_NOW_H
#define FAIRWAY_API_POOL_NOW_H

#include "api/api.h"
#include "base/json_write.h"
#include "pool/pool_counts.h"

struct pool_now {
    struct pool_counts pool;
    enum err refusal; /* with which every request for a lease is refused; ERR_OK: with none */
    struct detail why;
};

/* As pool_counts_read, or pool_status_read when accounts need not be counted. An error is the database's. */
MUST_CHECK enum err pool_now_read(struct db *db, const struct api_settings *settings, bool counted,
    struct pool_now *out, struct detail *detail);

/* The member "accounts": how many in each state. */
void api_write_accounts(struct json_write *out, const struct pool_counts *pool);

/* The last ledger that ingestion has seen committed; 0: not known. */
uint32_t pool_now_ledger(const struct api_settings *settings);

/* ERR_GRANTS_SUSPENDED: this replica does not know yet whether its RPC is of the network. */
MUST_CHECK enum err pool_now_check_network(const struct api_settings *settings, struct detail *detail);

#endif
