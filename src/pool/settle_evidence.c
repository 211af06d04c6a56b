/* What a ledger, or the reads after a gap, say about accounts, in one form for both. Nothing is judged here.
 */
#include "pool/settle_evidence.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stellar/result.h"

static struct settle_evidence evidence_new(const struct ledger *ledger, size_t transactions, size_t accounts)
{
    return (struct settle_evidence){.sequence = ledger->sequence,
        .protocol = ledger->protocol,
        .close_time_s = ledger->close_time_s,
        .sources = NEW_ARRAY(transactions, const char *),
        .sequences = NEW_ARRAY(transactions, int64_t),
        .hashes = NEW_ARRAY(transactions, struct bytes),
        .codes = NEW_ARRAY(transactions, const char *),
        .ledgers = NEW_ARRAY(transactions, int64_t),
        .accounts = NEW_ARRAY(accounts, struct account_evidence),
        .addresses = NEW_ARRAY(accounts, const char *),
        .source_texts = mem_new(transactions, ADDRESS_SIZE)};
}

void settle_evidence_free(struct settle_evidence *evidence)
{
    free(evidence->sources);
    free(evidence->sequences);
    free(evidence->hashes);
    free(evidence->codes);
    free(evidence->ledgers);
    free(evidence->accounts);
    free(evidence->addresses);
    free(evidence->source_texts);
    *evidence = (struct settle_evidence){0};
}

void settle_doubts_free(struct settle_doubts *doubts)
{
    free(doubts->keys);
    *doubts = (struct settle_doubts){0};
}

void settle_reads_free(struct settle_reads *reads)
{
    free(reads->accounts);
    frozen_accounts_free(&reads->frozen);
    *reads = (struct settle_reads){0};
}

/* ---- transactions */

static void add_transaction(struct settle_evidence *evidence, const struct public_key *source,
    int64_t sequence, const struct hash *hash, int32_t code, uint32_t ledger)
{
    size_t at = evidence->count++;
    address_encode(source, evidence->source_texts[at]);
    evidence->sources[at] = evidence->source_texts[at];
    evidence->sequences[at] = sequence;
    evidence->hashes[at] = BYTES_OF(hash->bytes);
    evidence->codes[at] = result_code_name(code);
    evidence->ledgers[at] = ledger;
}

static void add_innermost(
    struct settle_evidence *evidence, const struct ledger_transaction *transaction, uint32_t ledger)
{
    if (!transaction->consumed)
        return;
    bool inner = transaction->fee_bump;
    add_transaction(evidence, &transaction->source, transaction->sequence,
        inner ? &transaction->inner_hash : &transaction->hash,
        inner ? transaction->inner_code : transaction->code, ledger);
}

/* ---- accounts */

static void add_account(struct settle_evidence *evidence, const struct account_evidence *account)
{
    evidence->accounts[evidence->account_count++] = *account;
}

static int by_key(const void *a, const void *b)
{
    return public_key_compare(
        &((const struct account_evidence *)a)->key, &((const struct account_evidence *)b)->key);
}

static void join(struct account_evidence *to, const struct account_evidence *from)
{
    if (from->consumed > to->consumed)
        to->consumed = from->consumed;
    if (from->seen != NULL)
        to->seen = from->seen;
    to->frozen |= from->frozen;
    to->reread |= from->reread;
}

/* Makes one item of all items about an account, and writes the addresses. */
static void join_accounts(struct settle_evidence *evidence)
{
    size_t count = 0;
    if (evidence->account_count > 0)
        qsort(evidence->accounts, evidence->account_count, sizeof evidence->accounts[0], by_key);
    for (size_t i = 0; i < evidence->account_count; i++)
        if (count > 0 && public_key_equal(&evidence->accounts[count - 1].key, &evidence->accounts[i].key))
            join(&evidence->accounts[count - 1], &evidence->accounts[i]);
        else
            evidence->accounts[count++] = evidence->accounts[i];
    evidence->account_count = count;
    for (size_t i = 0; i < count; i++) {
        address_encode(&evidence->accounts[i].key, evidence->accounts[i].address);
        evidence->addresses[i] = evidence->accounts[i].address;
    }
}

static int key_compare(const void *key, const void *snapshot)
{
    return public_key_compare(key, &((const struct account_snapshot *)snapshot)->account.key);
}

static void add_reads(struct settle_evidence *evidence, const struct settle_reads *reads)
{
    if (reads == NULL || reads->account_count == 0)
        return;
    for (size_t i = 0; i < evidence->account_count; i++)
        evidence->accounts[i].read = bsearch(&evidence->accounts[i].key, reads->accounts,
            reads->account_count, sizeof reads->accounts[0], key_compare);
}

struct settle_evidence settle_evidence_of_ledger(
    const struct ledger *ledger, const struct settle_reads *reads, const struct settle_doubts *unread)
{
    const struct frozen_accounts *frozen = &ledger->frozen;
    struct settle_evidence evidence = evidence_new(ledger, ledger->transaction_count,
        ledger->transaction_count + ledger->account_count + frozen->count + unread->count);
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        add_innermost(&evidence, transaction, ledger->sequence);
        if (transaction->consumed)
            add_account(&evidence,
                &(struct account_evidence){.key = transaction->source, .consumed = transaction->sequence});
    }
    for (size_t i = 0; i < ledger->account_count; i++)
        add_account(&evidence,
            &(struct account_evidence){.key = ledger->accounts[i].key, .seen = &ledger->accounts[i]});
    for (size_t i = 0; i < frozen->count; i++)
        add_account(&evidence, &(struct account_evidence){.key = frozen->keys[i], .frozen = true});
    for (size_t i = 0; i < unread->count; i++)
        add_account(&evidence, &(struct account_evidence){.key = unread->keys[i], .reread = true});
    join_accounts(&evidence);
    add_reads(&evidence, reads);
    return evidence;
}

struct settle_evidence settle_evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads)
{
    struct settle_evidence evidence = evidence_new(ledger, reads->fate_count, reads->account_count);
    evidence.gap = true;
    for (size_t i = 0; i < reads->fate_count; i++) {
        const struct lease_fate *fate = &reads->fates[i];
        if (result_consumes_sequence(fate->code))
            add_transaction(&evidence, &fate->account, fate->sequence, &fate->hash, fate->code, fate->ledger);
    }
    for (size_t i = 0; i < reads->account_count; i++) {
        const struct account_snapshot *read = &reads->accounts[i];
        add_account(&evidence, &(struct account_evidence){.key = read->account.key,
                                   .read = read,
                                   .frozen = frozen_has(&reads->frozen, &read->account.key)});
    }
    join_accounts(&evidence);
    return evidence;
}
