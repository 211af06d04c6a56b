#include "underway.h"

#include <string.h>

#include "base/text.h"

static const char sql_pending[] = "SELECT p.id, p.hash, p.sequence, p.max_time, n.distribution_account"
                                  " FROM fairway.provisioning p, fairway.network n WHERE p.state = 'pending'";

const char underway_decide_sql[] =
    "UPDATE fairway.provisioning SET state = $2, result_code = $3, ledger = $4,"
    " decided_at = clock_timestamp() WHERE id = $1 AND state = 'pending'";

struct db_statement underway_statement(void)
{
    return DB_SQL0(sql_pending);
}

enum err underway_read(const struct db_rows *rows, struct underway *out, struct detail *detail)
{
    *out = (struct underway){.any = db_count(rows) == 1};
    if (!out->any)
        return ERR_OK;
    struct bytes hash = db_bytea(rows, 0, 1);
    if (hash.len != sizeof out->hash.bytes || address_decode(db_text(rows, 0, 4), &out->source) != ERR_OK)
        return detail_set(detail, ERR_INTERNAL, "the pending provisioning row is malformed");
    out->id = db_i64(rows, 0, 0);
    memcpy(out->hash.bytes, hash.data, hash.len);
    out->sequence = db_i64(rows, 0, 2);
    out->max_time_s = db_i64(rows, 0, 3);
    return ERR_OK;
}

/* Anybody may wrap a plain transaction in a fee bump: then it is found by its inner hash. */
static const struct ledger_transaction *find(const struct ledger *ledger, const struct hash *hash)
{
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        if (hash_equal(transaction->fee_bump ? &transaction->inner_hash : &transaction->hash, hash))
            return transaction;
    }
    return NULL;
}

static struct underway_fate included(int32_t code)
{
    const char *name = result_code_name(code);
    return (struct underway_fate){text_equal(name, "txSUCCESS") ? "succeeded" : "failed", name};
}

struct underway_fate underway_judge(const struct underway *underway, const struct ledger *ledger)
{
    const struct ledger_transaction *found = find(ledger, &underway->hash);
    if (found != NULL)
        return included(found->fee_bump ? found->inner_code : found->code);
    const struct ledger_account *source = ledger_account(ledger, &underway->source);
    if (source != NULL && (source->removed || source->sequence >= underway->sequence))
        return (struct underway_fate){"superseded", NULL};
    if (underway->max_time_s < (int64_t)ledger->close_time_s)
        return (struct underway_fate){"expired", NULL};
    return (struct underway_fate){NULL, NULL};
}

struct underway_fate underway_judge_behind_gap(
    const struct underway *underway, const struct underway_sight *sight, const struct ledger *ledger)
{
    if (sight->found_ledger > ledger->sequence)
        return (struct underway_fate){NULL, NULL}; /* its own ledger is still to come */
    if (sight->found_ledger > 0)
        return included(sight->code);
    if (sight->source->removed || sight->source->sequence >= underway->sequence)
        return sight->done ? included(0) : (struct underway_fate){"superseded", NULL};
    if (underway->max_time_s < (int64_t)ledger->close_time_s)
        return (struct underway_fate){"expired", NULL};
    return (struct underway_fate){NULL, NULL};
}
