/* Collects what the metadata says of accounts, and keeps the last state of each. No hash covers any of it. */
#include "ledger_changes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stellar/account.h"

enum change_type {
    CHANGE_CREATED,
    CHANGE_UPDATED,
    CHANGE_REMOVED,
    CHANGE_STATE, /* the entry before the change, which follows */
    CHANGE_RESTORED,
};

struct collecting {
    struct ledger_changes *changes;
    enum ledger_stage stage;
};

static struct ledger_change *next_change(struct ledger_changes *changes, enum ledger_stage stage)
{
    if (changes->count == changes->cap) {
        changes->cap = changes->cap == 0 ? 256 : changes->cap * 2;
        changes->list = mem_grow(changes->list, changes->cap, sizeof *changes->list);
    }
    struct ledger_change *change = &changes->list[changes->count];
    *change = (struct ledger_change){.order = (uint64_t)stage << 56 | changes->count};
    return change;
}

/* An upgrade that freezes or unfreezes keys writes the whole new list to this setting. */
static enum err collect_setting(struct ledger_changes *changes, struct xdr_reader *reader)
{
    uint32_t setting;
    enum err e = xdr_u32(reader, &setting);
    if (e == ERR_OK && setting == CONFIG_SETTING_FROZEN_LEDGER_KEYS) {
        changes->frozen = reader->at;
        changes->frozen_end = reader->end;
    }
    return e;
}

static enum err collect(struct bytes span, void *context)
{
    struct collecting *collecting = context;
    struct xdr_reader reader = xdr_reader(span);
    uint32_t change_type, last_modified, entry_type;
    enum err e = xdr_u32(&reader, &change_type);
    bool removed = change_type == CHANGE_REMOVED;
    if (e != ERR_OK || change_type == CHANGE_STATE)
        return e;
    if ((!removed && (e = xdr_u32(&reader, &last_modified)) != ERR_OK) ||
        (e = xdr_u32(&reader, &entry_type)) != ERR_OK)
        return e;
    if (entry_type == LEDGER_ENTRY_CONFIG_SETTING && !removed)
        return collect_setting(collecting->changes, &reader);
    if (entry_type != LEDGER_ENTRY_ACCOUNT)
        return ERR_OK;
    struct ledger_change *change = next_change(collecting->changes, collecting->stage);
    if (!removed) {
        change->entry = reader.at;
        change->entry_end = reader.end;
    }
    if ((e = account_id_read(&reader, &change->key)) == ERR_OK)
        collecting->changes->count++;
    return e;
}

enum err ledger_changes_read(
    struct ledger_changes *changes, struct xdr_reader *reader, enum xdr_type type, enum ledger_stage stage)
{
    struct collecting collecting = {changes, stage};
    return xdr_each(reader, type, XDR_LedgerEntryChange, collect, &collecting);
}

static int by_key_latest_first(const void *left, const void *right)
{
    const struct ledger_change *a = left, *b = right;
    int order = public_key_compare(&a->key, &b->key);
    return order != 0 ? order : (a->order < b->order) - (a->order > b->order);
}

static enum err settle_accounts(struct ledger_changes *changes, struct ledger *ledger)
{
    if (changes->count == 0)
        return ERR_OK;
    qsort(changes->list, changes->count, sizeof *changes->list, by_key_latest_first);
    ledger->accounts = NEW_ARRAY(changes->count, struct ledger_account);
    for (size_t i = 0; i < changes->count; i++) {
        const struct ledger_change *change = &changes->list[i];
        if (i > 0 && public_key_equal(&change->key, &change[-1].key))
            continue;
        struct ledger_account *account = &ledger->accounts[ledger->account_count++];
        if (change->entry == NULL) {
            *account = (struct ledger_account){.key = change->key, .removed = true};
            continue;
        }
        struct xdr_reader reader = {change->entry, change->entry_end};
        enum err e = account_entry_read(&reader, account);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

enum err ledger_changes_settle(struct ledger_changes *changes, struct ledger *ledger)
{
    enum err e = settle_accounts(changes, ledger);
    if (e != ERR_OK || changes->frozen == NULL)
        return e;
    struct xdr_reader reader = {changes->frozen, changes->frozen_end};
    return frozen_read(&reader, &ledger->frozen);
}

void ledger_changes_free(struct ledger_changes *changes)
{
    free(changes->list);
    *changes = (struct ledger_changes){0};
}
