#include "changes.h"

#include <stdlib.h>
#include <string.h>

#include "inspect.h"
#include "base/mem.h"
#include "stellar/account.h"

enum change_type {
    CHANGE_CREATED,
    CHANGE_UPDATED,
    CHANGE_REMOVED,
    CHANGE_STATE, /* the entry before the change, which follows */
    CHANGE_RESTORED,
};

/* In order. The ledger completes each stage for all transactions before it begins the next. */
enum stage {
    STAGE_FEES,
    STAGE_APPLY,
    STAGE_FEES_AFTER_APPLY, /* refunds, from protocol 23 */
    STAGE_UPGRADES,
};

struct change {
    enum change_type type;
    uint64_t order;               /* ascending in the order in which the ledger applied changes */
    struct account_entry account; /* after the change; of CHANGE_STATE, before it */
};

struct collecting {
    struct changes *changes;
    enum stage stage;
};

static enum err collect(struct bytes span, void *context)
{
    struct collecting *collecting = context;
    struct changes *changes = collecting->changes;
    struct xdr_reader reader = xdr_reader(span);
    struct account_entry account = {.removed = true};
    const uint32_t type = xdr_u32(&reader);
    if (type != CHANGE_REMOVED)
        xdr_u32(&reader); /* the ledger of the last change */
    if (reader.e != ERR_OK || be32_get(reader.at) != LEDGER_ENTRY_ACCOUNT)
        return reader.e;
    if (type != CHANGE_REMOVED)
        xdr_fail(&reader, account_entry_decode(xdr_take(&reader, XDR_LedgerEntryData), &account));
    else {
        xdr_u32(&reader); /* the type of the entry */
        account.key = account_id_read(&reader);
    }
    if (changes->count == changes->cap) {
        changes->cap = changes->cap == 0 ? 256 : changes->cap * 2;
        changes->list = mem_grow(changes->list, changes->cap, sizeof *changes->list);
    }
    changes->list[changes->count] =
        (struct change){(enum change_type)type, (uint64_t)collecting->stage << 56 | changes->count, account};
    changes->count++;
    return reader.e;
}

static void each(struct xdr_reader *in, enum xdr_type type, struct changes *changes, enum stage stage)
{
    xdr_fail(in, xdr_each(in, type, XDR_LedgerEntryChange, collect, &(struct collecting){changes, stage}));
}

static void read_transaction(struct xdr_reader *in, uint32_t version, struct changes *changes)
{
    if (version == 2)
        xdr_take(in, XDR_ExtensionPoint);
    xdr_take(in, XDR_TransactionResultPair);
    each(in, XDR_LedgerEntryChanges, changes, STAGE_FEES);
    each(in, XDR_TransactionMeta, changes, STAGE_APPLY);
    if (version == 2)
        each(in, XDR_LedgerEntryChanges, changes, STAGE_FEES_AFTER_APPLY);
}

static void read_meta(struct xdr_reader *in, struct changes *changes)
{
    const uint32_t version = xdr_u32(in);
    if (version > 0)
        xdr_take(in, XDR_LedgerCloseMetaExt);
    xdr_take(in, XDR_LedgerHeaderHistoryEntry);
    xdr_take(in, version > 0 ? XDR_GeneralizedTransactionSet : XDR_TransactionSet);
    for (uint32_t count = xdr_u32(in); in->e == ERR_OK && count > 0; count--)
        read_transaction(in, version, changes);
    for (uint32_t count = xdr_u32(in); in->e == ERR_OK && count > 0; count--)
        each(in, XDR_UpgradeEntryMeta, changes, STAGE_UPGRADES);
}

struct changes changes_of(struct bytes meta)
{
    struct changes changes = {0};
    struct xdr_reader in = xdr_reader(meta);
    read_meta(&in, &changes);
    if (in.e != ERR_OK)
        abort();
    return changes;
}

void changes_free(struct changes *changes)
{
    free(changes->list);
}

/* ---- the last state of each account */

/* By the address text, whose order differs from that of the keys: base32 puts letters before digits, ASCII
 * digits before letters. */
static int by_address_latest_first(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    char first[ADDRESS_SIZE], second[ADDRESS_SIZE];
    address_encode(&a->account.key, first);
    address_encode(&b->account.key, second);
    const int order = strcmp(first, second);
    return order != 0 ? order : (a->order < b->order) - (a->order > b->order);
}

json_t *changes_json(struct changes *changes)
{
    json_t *accounts = json_object();
    if (changes->count > 0)
        qsort(changes->list, changes->count, sizeof changes->list[0], by_address_latest_first);
    for (size_t i = 0; i < changes->count; i++) {
        const struct account_entry *account = &changes->list[i].account;
        char address[ADDRESS_SIZE];
        address_encode(&account->key, address);
        if (changes->list[i].type != CHANGE_STATE && json_object_get(accounts, address) == NULL)
            json_object_set_new(
                accounts, address, account->removed ? json_null() : inspect_i64(account->sequence));
    }
    return accounts;
}

/* ---- what the ledger proves */

static bool has_deed(const struct ledger *ledger, const struct public_key *account, enum ledger_deed deed)
{
    for (size_t i = 0; i < ledger->operation_count; i++)
        if (ledger->operations[i].deed == deed && public_key_equal(&ledger->operations[i].account, account))
            return true;
    return false;
}

static bool has_consumed(const struct ledger *ledger, const struct public_key *account)
{
    for (size_t i = 0; i < ledger->transaction_count; i++)
        if (ledger->transactions[i].consumed && public_key_equal(&ledger->transactions[i].source, account))
            return true;
    return false;
}

/* The state before an update is the change before it. */
static bool is_explained(
    const struct ledger *ledger, const struct change *change, const struct change *before)
{
    const struct public_key *key = &change->account.key;
    switch (change->type) {
    case CHANGE_CREATED:
        return has_deed(ledger, key, DEED_CREATED);
    case CHANGE_REMOVED:
        return has_deed(ledger, key, DEED_MERGED);
    case CHANGE_UPDATED:
        return before == NULL ||
               (before->account.sequence == change->account.sequence &&
                   before->account.own_authority == change->account.own_authority) ||
               has_consumed(ledger, key) || has_deed(ledger, key, DEED_OTHER);
    default:
        return true;
    }
}

const struct public_key *changes_unexplained(const struct changes *changes, const struct ledger *ledger)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i], *before = i > 0 ? change - 1 : NULL;
        if (before != NULL && before->type != CHANGE_STATE)
            before = NULL;
        if (!is_explained(ledger, change, before))
            return &change->account.key;
    }
    return NULL;
}
