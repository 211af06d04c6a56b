/* Reads from the RPC what the metadata of a ledger claims. A read as of another ledger confirms nothing. */
#include "confirm.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

static enum err check_as_of(uint32_t as_of, uint32_t ledger, struct detail *detail)
{
    if (as_of >= ledger)
        return ERR_OK;
    return detail_set(detail, ERR_RPC_UNAVAILABLE,
        "Stellar RPC answers as of ledger %u, but what changed in ledger %u has to be confirmed", as_of,
        ledger);
}

static enum err read_accounts(const struct feed *feed, uint32_t ledger, const struct settle_doubts *doubts,
    struct settle_reads *out, struct detail *detail)
{
    struct rpc_account answers[RPC_ENTRIES_MAX];
    enum err e = ERR_OK;
    out->accounts = NEW_ARRAY(doubts->count, struct account_snapshot);
    while (e == ERR_OK && out->account_count < doubts->count) {
        const struct public_key *keys = doubts->keys + out->account_count;
        size_t left = doubts->count - out->account_count,
               count = left < RPC_ENTRIES_MAX ? left : RPC_ENTRIES_MAX;
        uint32_t as_of;
        e = feed->accounts(feed->source, keys, count, answers, &as_of, detail);
        if (e == ERR_OK)
            e = check_as_of(as_of, ledger, detail);
        for (size_t i = 0; e == ERR_OK && i < count; i++)
            out->accounts[out->account_count++] = feed_snapshot(&keys[i], &answers[i], as_of);
    }
    return e;
}

static enum err read_frozen(
    const struct feed *feed, uint32_t ledger, struct settle_reads *out, struct detail *detail)
{
    uint32_t as_of;
    enum err e = feed->frozen(feed->source, &out->frozen, &as_of, detail);
    if (e == ERR_OK)
        e = check_as_of(as_of, ledger, detail);
    out->frozen_read = e == ERR_OK;
    return e;
}

static enum err read_all(const struct feed *feed, uint32_t ledger, const struct settle_doubts *doubts,
    struct settle_reads *out, struct detail *detail)
{
    *out = (struct settle_reads){0};
    enum err e = doubts->count > 0 ? read_accounts(feed, ledger, doubts, out, detail) : ERR_OK;
    if (e == ERR_OK && doubts->frozen)
        e = read_frozen(feed, ledger, out, detail);
    return e;
}

enum err confirm_read(struct confirm *confirm, uint32_t ledger, const struct settle_doubts *doubts,
    struct settle_reads *out, struct detail *detail)
{
    struct detail why = {""};
    enum err e = read_all(&confirm->feed, ledger, doubts, out, &why);
    if (e == ERR_OK)
        outage_end(&confirm->outage);
    if ((e != ERR_RPC_UNAVAILABLE && e != ERR_RPC_REFUSED) || !outage_lasts(&confirm->outage, clock_ms()))
        return e == ERR_OK ? e : detail_set(detail, e, "%s", why.text);
    log_error("cannot confirm account changes that ledger metadata reports; the accounts are quarantined",
        "ledger=%" PRIu32 " waited_ms=%" PRId64 " error=%s detail=\"%s\"", ledger,
        confirm->outage.last_ms - confirm->outage.since_ms, err_code(e), why.text);
    settle_reads_free(out);
    out->given_up = true;
    return ERR_OK;
}

bool confirm_rereads(struct confirm *confirm)
{
    if (clock_left_ms(confirm->reread_ms) > 0)
        return false;
    confirm->reread_ms = clock_ms() + confirm->reread_every_ms;
    return true;
}
