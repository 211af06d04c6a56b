/* Chooses and checks the max time of a lease. The time comes from the caller; no clock is read. */
#include "stellar/policy.h"

#include <inttypes.h>

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t after(uint64_t now_s, uint32_t seconds)
{
    return seconds > UINT64_MAX - now_s ? UINT64_MAX : now_s + seconds;
}

static uint64_t chosen(const struct preconditions *preconditions, uint64_t now_s, uint32_t timeout_s)
{
    uint64_t latest_s = after(now_s, LEASE_SECONDS_MAX);
    if (preconditions->max_time_s == 0 && timeout_s == 0)
        return after(now_s, LEASE_SECONDS_DEFAULT);
    if (preconditions->max_time_s != 0)
        latest_s = earlier(latest_s, preconditions->max_time_s);
    if (timeout_s != 0)
        latest_s = earlier(latest_s, after(now_s, timeout_s));
    return latest_s;
}

/* left_s is the time until the max time. */
static enum err check_ledgers(
    const struct preconditions *preconditions, uint32_t tip, uint64_t left_s, struct detail *detail)
{
    uint64_t max_ledger = preconditions->max_ledger, min_ledger = preconditions->min_ledger;
    if (max_ledger != 0 && max_ledger <= (uint64_t)tip + LEASE_LEDGERS_MIN)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: LEASE_LEDGERS_MIN */
            "The transaction's maxLedger %" PRIu64 " is too near: the last ledger was %" PRIu32 ".",
            max_ledger, tip);
    if (min_ledger > tip && min_ledger - tip > left_s * LEDGERS_PER_SECOND_MAX)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: LEDGERS_PER_SECOND_MAX */
            "The transaction's minLedger %" PRIu64
            " will not close before its max time: the last ledger was %" PRIu32 ".",
            min_ledger, tip);
    return ERR_OK;
}

enum err policy_check_expiry(uint32_t expires_ledger, uint32_t tip, struct detail *detail)
{
    if (expires_ledger >= (uint64_t)tip + LEASE_LEDGERS_MIN)
        return ERR_OK;
    return detail_set(detail,
        ERR_AUTHORIZATION_EXPIRES, /* ours: LEASE_LEDGERS_MIN, of CAP-46-11's last one */
        "An authorization entry expires with ledger %" PRIu32 ", and the last ledger was %" PRIu32
        ". An earlier request may have executed it: look that up before you have it signed again, for a "
        "later signatureExpirationLedger.",
        expires_ledger, tip);
}

enum err policy_max_time(const struct preconditions *preconditions, uint64_t now_s, uint32_t timeout_s,
    uint32_t tip, uint64_t *max_time_s, struct detail *detail)
{
    uint64_t chosen_s = chosen(preconditions, now_s, timeout_s);
    if (chosen_s < now_s)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* CAP-21: txTOO_LATE */
            "The transaction's max time %" PRIu64 " is in the past: the time is %" PRIu64
            ". Set the max time at least %d s ahead, or to 0.",
            chosen_s, now_s, LEASE_SECONDS_MIN);
    if (chosen_s - now_s < LEASE_SECONDS_MIN)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* ours: LEASE_SECONDS_MIN */
            "The transaction's max time %" PRIu64 " is less than %d s ahead: the time is %" PRIu64
            ". Set the max time further ahead, or to 0.",
            chosen_s, LEASE_SECONDS_MIN, now_s);
    if (chosen_s < preconditions->min_time_s)
        return detail_set(detail, ERR_INVALID_TRANSACTION, /* CAP-21: no close time is in both */
            "The transaction's min time %" PRIu64 " is after %" PRIu64
            ", the latest max time that the lease can have.",
            preconditions->min_time_s, chosen_s);
    enum err e = check_ledgers(preconditions, tip, chosen_s - now_s, detail);
    if (e == ERR_OK)
        *max_time_s = chosen_s;
    return e;
}

const char *policy_max_time_set_by(
    const struct preconditions *preconditions, uint32_t timeout_s, uint64_t max_time_s)
{
    if (preconditions->max_time_s == max_time_s)
        return "transaction";
    if (preconditions->max_time_s == 0 && timeout_s == 0)
        return "default";
    return timeout_s != 0 && timeout_s <= LEASE_SECONDS_MAX ? "timeoutSeconds" : "limit";
}
