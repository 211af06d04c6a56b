#include "pool/settle_evidence.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stellar/result.h"

static struct settle_evidence evidence_new(const struct ledger *ledger, size_t transactions, size_t accounts)
{
    return (struct settle_evidence){.sequence = ledger->sequence,
        .close_time_s = ledger->close_time_s,
        .hashes = NEW_ARRAY(transactions, struct bytes),
        .codes = NEW_ARRAY(transactions, const char *),
        .ledgers = NEW_ARRAY(transactions, int64_t),
        .accounts = NEW_ARRAY(accounts, struct account_evidence),
        .addresses = NEW_ARRAY(accounts, const char *)};
}

void settle_evidence_free(struct settle_evidence *evidence)
{
    free(evidence->hashes);
    free(evidence->codes);
    free(evidence->ledgers);
    free(evidence->accounts);
    free(evidence->addresses);
    *evidence = (struct settle_evidence){0};
}

static void add_transaction(
    struct settle_evidence *evidence, const struct hash *hash, int32_t code, uint32_t ledger)
{
    if (!result_consumes_sequence(code))
        return;
    evidence->hashes[evidence->count] = BYTES_OF(hash->bytes);
    evidence->codes[evidence->count] = result_code_name(code);
    evidence->ledgers[evidence->count++] = ledger;
}

static void add_account(struct settle_evidence *evidence, const struct public_key *key,
    const struct ledger_account *seen, uint32_t ledger, bool frozen)
{
    struct account_evidence *account = &evidence->accounts[evidence->account_count];
    *account = (struct account_evidence){.seen = seen, .ledger = ledger, .frozen = frozen};
    address_encode(key, account->address);
    evidence->addresses[evidence->account_count++] = account->address;
}

struct settle_evidence settle_evidence_of_ledger(const struct ledger *ledger)
{
    const struct frozen_accounts *frozen = &ledger->frozen;
    struct settle_evidence evidence =
        evidence_new(ledger, ledger->transaction_count, ledger->account_count + frozen->count);
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        if (transaction->fee_bump)
            add_transaction(&evidence, &transaction->inner_hash, transaction->inner_code, ledger->sequence);
        else
            add_transaction(&evidence, &transaction->hash, transaction->code, ledger->sequence);
    }
    for (size_t i = 0; i < ledger->account_count; i++) {
        const struct ledger_account *seen = &ledger->accounts[i];
        add_account(&evidence, &seen->key, seen, ledger->sequence, frozen_has(frozen, &seen->key));
    }
    for (size_t i = 0; i < frozen->count; i++) {
        bool again = i > 0 && public_key_equal(&frozen->keys[i], &frozen->keys[i - 1]);
        if (!again && ledger_account(ledger, &frozen->keys[i]) == NULL)
            add_account(&evidence, &frozen->keys[i], NULL, ledger->sequence, true);
    }
    return evidence;
}

struct settle_evidence settle_evidence_of_gap(const struct ledger *ledger, const struct gap_reads *reads)
{
    struct settle_evidence evidence = evidence_new(ledger, reads->fate_count, reads->account_count);
    evidence.gap = true;
    for (size_t i = 0; i < reads->fate_count; i++)
        add_transaction(&evidence, &reads->fates[i].hash, reads->fates[i].code, reads->fates[i].ledger);
    for (size_t i = 0; i < reads->account_count; i++) {
        const struct account_snapshot *read = &reads->accounts[i];
        add_account(&evidence, &read->account.key, &read->account, read->ledger,
            frozen_has(&reads->frozen, &read->account.key));
    }
    return evidence;
}
