#include "reference.h"

#include <string.h>

static bool is(const struct reference_account *account, const char *state)
{
    return strcmp(account->state, state) == 0;
}

struct reference_lease *reference_open_lease(struct reference *reference, size_t account)
{
    for (size_t i = 0; i < reference->lease_count; i++)
        if (reference->leases[i].account == account && strcmp(reference->leases[i].result, "open") == 0)
            return &reference->leases[i];
    return NULL;
}

static bool idle(struct reference *reference, size_t account)
{
    return is(&reference->accounts[account], "active") && reference_open_lease(reference, account) == NULL;
}

size_t reference_idle(struct reference *reference)
{
    size_t count = 0;
    for (size_t i = 0; i < REFERENCE_ACCOUNTS; i++)
        count += idle(reference, i);
    return count;
}

const char *reference_grant(struct reference *reference, const struct reference_lease *lease)
{
    if (reference->suspended || reference->held)
        return "granted while grants are stopped";
    if (!idle(reference, lease->account))
        return "granted an account that is not idle";
    if (lease->sequence != reference->accounts[lease->account].sequence + 1)
        return "granted another sequence number than the next one";
    for (size_t i = 0; i < reference->lease_count; i++)
        if (hash_equal(&reference->leases[i].hash, &lease->hash))
            return "granted a hash twice";
    reference->leases[reference->lease_count] = *lease;
    reference->leases[reference->lease_count++].result = "open";
    return NULL;
}

static void end(struct reference_lease *lease, const char *result)
{
    if (lease != NULL)
        lease->result = result;
}

static void happen(struct reference *reference, size_t n, enum event event)
{
    struct reference_account *account = &reference->accounts[n];
    struct reference_lease *lease = reference_open_lease(reference, n);
    if (is(account, "retired"))
        return;
    switch (event) {
    case NOTHING:
    case INCLUDED_FOR_FREE:
        return;
    case INCLUDED:
    case INCLUDED_FAILED:
        end(lease, event == INCLUDED ? "confirmed" : "failed");
        account->sequence++;
        break;
    case FOREIGN_USE:
        end(lease, "superseded");
        account->sequence++;
        if (is(account, "active"))
            account->state = "quarantined";
        break;
    case REMOVED:
        account->state = is(account, "retiring") && lease == NULL ? "retired" : "quarantined";
        return;
    case CREATED:
        account->sequence = (int64_t)reference->tip << 32;
        account->state = "active";
        break;
    }
    account->ledger = reference->tip;
}

void reference_ledger(
    struct reference *reference, const enum event events[REFERENCE_ACCOUNTS], uint64_t close_time_s)
{
    reference->tip++;
    for (size_t i = 0; i < REFERENCE_ACCOUNTS; i++)
        happen(reference, i, events[i]);
    for (size_t i = 0; i < REFERENCE_ACCOUNTS; i++) {
        struct reference_lease *lease = reference_open_lease(reference, i);
        if (lease != NULL && (lease->max_time_s < close_time_s ||
                                 (lease->max_ledger != 0 && lease->max_ledger <= reference->tip + 1)))
            lease->result = "expired";
    }
}
