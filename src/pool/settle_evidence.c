/* What a ledger, or the reads after a gap, say about accounts, in one form for both. Nothing is judged here.
 */
#include "pool/settle_evidence.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "stellar/result.h"

static struct settle_evidence evidence_new(const struct ledger *ledger, size_t transactions, size_t accounts)
{
    return (struct settle_evidence){.sequence = ledger->sequence,
        .close_time_s = ledger->close_time_s,
        .transactions = NEW_ARRAY(transactions, struct transaction_evidence),
        .accounts = NEW_ARRAY(accounts, struct account_evidence),
        .addresses = NEW_ARRAY(accounts, const char *)};
}

void settle_evidence_free(struct settle_evidence *evidence)
{
    free(evidence->transactions);
    free(evidence->accounts);
    free(evidence->addresses);
    *evidence = (struct settle_evidence){0};
}

/* ---- transactions */

static void add_transaction(struct settle_evidence *evidence, const struct public_key *source,
    const struct hash *hash, int32_t code, uint32_t ledger, const struct ledger_transaction *found)
{
    struct transaction_evidence *added = &evidence->transactions[evidence->transaction_count++];
    *added = (struct transaction_evidence){.hash = *hash,
        .code = result_code_name(code),
        .ledger = ledger,
        .bumped_by = found != NULL && found->fee_bump ? &found->fee_source : NULL,
        .found = found};
    address_encode(source, added->source);
}

static void add_innermost(
    struct settle_evidence *evidence, const struct ledger_transaction *transaction, uint32_t ledger)
{
    if (transaction->consumed)
        add_transaction(evidence, &transaction->source, ledger_inner_hash(transaction),
            transaction->fee_bump ? transaction->inner_code : transaction->code, ledger, transaction);
}

const struct transaction_evidence *settle_evidence_find(
    const struct settle_evidence *evidence, const struct hash *hash)
{
    return bsearch(hash, evidence->transactions, evidence->transaction_count,
        sizeof evidence->transactions[0], hash_compare);
}

/* ---- accounts */

static void join(struct account_evidence *to, const struct account_evidence *from)
{
    if (from->consumed > to->consumed)
        to->consumed = from->consumed;
    to->created |= from->created;
    to->merged |= from->merged;
    to->ended_sponsoring |= from->ended_sponsoring;
    to->acted |= from->acted;
}

static int by_address(const void *a, const void *b)
{
    return strcmp(
        ((const struct account_evidence *)a)->address, ((const struct account_evidence *)b)->address);
}

/* Sorts the transactions. Makes one item of all items about an account, writes the addresses, and sorts by
 * them. */
static void sort_and_join(struct settle_evidence *evidence)
{
    size_t count = 0;
    qsort(
        evidence->transactions, evidence->transaction_count, sizeof evidence->transactions[0], hash_compare);
    qsort(evidence->accounts, evidence->account_count, sizeof evidence->accounts[0], public_key_compare);
    for (size_t i = 0; i < evidence->account_count; i++)
        if (count > 0 && public_key_equal(&evidence->accounts[count - 1].key, &evidence->accounts[i].key))
            join(&evidence->accounts[count - 1], &evidence->accounts[i]);
        else
            evidence->accounts[count++] = evidence->accounts[i];
    evidence->account_count = count;
    for (size_t i = 0; i < count; i++)
        address_encode(&evidence->accounts[i].key, evidence->accounts[i].address);
    qsort(evidence->accounts, count, sizeof evidence->accounts[0], by_address);
    for (size_t i = 0; i < count; i++)
        evidence->addresses[i] = evidence->accounts[i].address;
}

/* An account's key has to sign for each of its operations, but fairway signs with it for provisioning
 * alone: policy (stellar/policy.h) refuses an operation that can use the authority of the account that is
 * leased, or of any other one of the pool. */
static void add_operation(struct settle_evidence *evidence, const struct ledger *ledger,
    const struct ledger_operation *operation, const struct provisioning_list *provisioning)
{
    const struct hash *hash = ledger_inner_hash(&ledger->transactions[operation->transaction]);
    const bool submitted = provisioning != NULL && provisioning_has(provisioning, hash);
    evidence->accounts[evidence->account_count++] = (struct account_evidence){.key = operation->account,
        .created = operation->deed == DEED_CREATED,
        .merged = operation->deed == DEED_MERGED,
        .ended_sponsoring = operation->deed == DEED_ENDED_SPONSORING && !submitted,
        .acted = operation->deed == DEED_OTHER && !submitted};
}

struct settle_evidence settle_evidence_of_ledger(
    const struct ledger *ledger, const struct provisioning_list *provisioning)
{
    struct settle_evidence evidence =
        evidence_new(ledger, ledger->transaction_count, ledger->transaction_count + ledger->operation_count);
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        add_innermost(&evidence, transaction, ledger->sequence);
        if (transaction->consumed)
            evidence.accounts[evidence.account_count++] =
                (struct account_evidence){.key = transaction->source, .consumed = transaction->sequence};
    }
    for (size_t i = 0; i < ledger->operation_count; i++)
        add_operation(&evidence, ledger, &ledger->operations[i], provisioning);
    sort_and_join(&evidence);
    return evidence;
}

struct settle_evidence settle_evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads)
{
    struct settle_evidence evidence = evidence_new(ledger, reads->fate_count, reads->account_count);
    evidence.gap = true;
    for (size_t i = 0; i < reads->fate_count; i++) {
        const struct lease_fate *fate = &reads->fates[i];
        if (!result_consumes_sequence(fate->code))
            continue;
        add_transaction(&evidence, &fate->account, &fate->hash, fate->code, fate->ledger, NULL);
        evidence.transactions[evidence.transaction_count - 1].fate = fate;
    }
    for (size_t i = 0; i < reads->account_count; i++) {
        const struct account_snapshot *read = &reads->accounts[i];
        evidence.accounts[evidence.account_count++] = (struct account_evidence){
            .key = read->account.key, .read = read, .frozen = frozen_has(&reads->frozen, &read->account.key)};
    }
    sort_and_join(&evidence);
    return evidence;
}
