#include "settle_honest.h"

#include "base/mem.h"

enum err settle_honest(struct db *db, const struct ledger *ledger, struct settled *out, struct detail *detail)
{
    struct account_snapshot *accounts AUTO_FREE = NEW_ARRAY(ledger->account_count, struct account_snapshot);
    struct settle_doubts doubts CLEANUP(settle_doubts_free) = {0};
    for (size_t i = 0; i < ledger->account_count; i++)
        accounts[i] = (struct account_snapshot){ledger->accounts[i], ledger->sequence};
    const struct settle_reads reads = {.accounts = accounts,
        .account_count = ledger->account_count,
        .frozen_read = true,
        .frozen = ledger->frozen};
    const struct settle_terms terms = {.reads = &reads, .search = out->search};
    return settle_ledger(db, ledger, &terms, out, &doubts, detail);
}
