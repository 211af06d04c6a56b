/* The calls that use getLedgerEntries: account entries, the network's list of frozen keys, and its limits. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "call.h"
#include "field.h"
#include "stellar/account.h"

/*
 * Takes ownership of keys (an array of base64 LedgerKeys). The caller frees *result with json_decref; it is
 * NULL on error. *ledger is the ledger as of which the entries are. *entries is the array in *result that has
 * them; NULL when none exists.
 *
 * A healthy stellar-rpc returns an internal error for some milliseconds when it names a ledger whose snapshot
 * its captive core has not published yet: that is repeated.
 */
static enum err read_entries(struct rpc *rpc, json_t *keys, bool aside, json_t **result, uint32_t *ledger,
    const json_t **entries, struct detail *detail)
{
    json_t *params = json_pack("{s:o, s:s}", "keys", keys, "xdrFormat", "base64");
    enum err e = call_with(rpc, "getLedgerEntries", params,
        &(struct call_options){.repeats = !aside, .aside = aside}, result, detail);
    if (e == ERR_OK)
        e = field_u32(*result, "latestLedger", ledger, detail);
    *entries = json_object_get(*result, "entries");
    return e;
}

static json_t *ledger_keys(const struct public_key keys[], size_t count, char *texts[])
{
    json_t *list = json_array();
    struct buf key CLEANUP(buf_free) = {0};
    for (size_t i = 0; i < count; i++) {
        buf_clear(&key);
        account_ledger_key(&keys[i], &key);
        texts[i] = base64_encode(buf_bytes(&key));
        json_array_append_new(list, json_string(texts[i]));
    }
    return list;
}

/* ERR_XDR_UNKNOWN_ARM would stop ingestion until fairway is upgraded. Only a ledger shows that, because its
 * hash covers it; an entry may be one that an RPC invented. */
static enum err decode_account(
    struct bytes entry, const struct public_key *key, struct account_entry *account, struct detail *detail)
{
    enum err e = account_entry_decode(entry, account);
    if (e == ERR_OK && public_key_equal(&account->key, key))
        return ERR_OK;
    return detail_set(detail, ERR_RPC_REFUSED, "getLedgerEntries: an entry %s",
        e == ERR_XDR_UNKNOWN_ARM ? "is of a newer protocol than this fairway knows"
                                 : "does not belong to the account that its key names");
}

/* No rule says that entries come in the order of the request, so they are matched by key. */
static enum err find_entry(const json_t *item, char *const texts[], const struct buf entries[], size_t count,
    size_t *out, struct detail *detail)
{
    const char *key;
    enum err e = field_text(item, "key", &key, detail);
    if (e != ERR_OK)
        return e;
    for (*out = 0; *out < count; (*out)++)
        if (entries[*out].len == 0 && strcmp(texts[*out], key) == 0)
            return ERR_OK;
    return detail_set(detail, ERR_RPC_REFUSED, "getLedgerEntries returned an entry that was not requested");
}

enum err rpc_account_entries(struct rpc *rpc, const struct public_key keys[], size_t count,
    struct buf entries[], uint32_t *ledger, struct detail *detail)
{
    char *texts[RPC_ENTRIES_MAX];
    if (count == 0 || count > RPC_ENTRIES_MAX)
        return detail_set(detail, ERR_INTERNAL, "%zu accounts requested at once", count);
    for (size_t i = 0; i < count; i++)
        buf_clear(&entries[i]);
    AUTO_JSON json_t *result = NULL;
    const json_t *items;
    enum err e = read_entries(rpc, ledger_keys(keys, count, texts), false, &result, ledger, &items, detail);
    for (size_t i = 0, at = 0; e == ERR_OK && i < json_array_size(items); i++) {
        struct account_entry account;
        const json_t *item = json_array_get(items, i);
        if ((e = find_entry(item, texts, entries, count, &at, detail)) == ERR_OK &&
            (e = field_xdr(item, "xdr", &entries[at], detail)) == ERR_OK)
            e = decode_account(buf_bytes(&entries[at]), &keys[at], &account, detail);
    }
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    return e;
}

enum err rpc_accounts(struct rpc *rpc, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    struct buf entries[RPC_ENTRIES_MAX] = {0};
    enum err e = rpc_account_entries(rpc, keys, count, entries, ledger, detail);
    for (size_t i = 0; e == ERR_OK && i < count; i++) {
        out[i] = (struct account_entry){.key = keys[i], .removed = entries[i].len == 0};
        if (!out[i].removed)
            e = decode_account(buf_bytes(&entries[i]), &keys[i], &out[i], detail);
    }
    for (size_t i = 0; i < count && i < RPC_ENTRIES_MAX; i++)
        buf_free(&entries[i]);
    return e;
}

enum err rpc_frozen(struct rpc *rpc, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct buf bytes CLEANUP(buf_free) = {0}, entry CLEANUP(buf_free) = {0};
    size_t at;
    *out = (struct frozen_accounts){0};
    frozen_ledger_key(&bytes);
    AUTO_FREE char *key = base64_encode(buf_bytes(&bytes));
    AUTO_JSON json_t *result = NULL;
    const json_t *entries;
    enum err e = read_entries(rpc, json_pack("[s]", key), false, &result, ledger, &entries, detail);
    if (e != ERR_OK || json_array_size(entries) == 0)
        return e;
    const json_t *item = json_array_get(entries, 0);
    if ((e = find_entry(item, &key, &entry, 1, &at, detail)) != ERR_OK ||
        (e = field_xdr(item, "xdr", &entry, detail)) != ERR_OK)
        return e;
    if ((e = frozen_entry_decode(buf_bytes(&entry), out)) == ERR_OK)
        return e;
    return detail_set(detail, ERR_RPC_REFUSED,
        "getLedgerEntries: the list of frozen keys does not decode: %s", err_code(e));
}

/* Of a valid LedgerEntryData: the kind of entry, the setting, and its members, which have a fixed size. */
static void read_setting(struct bytes entry, uint32_t out[RPC_LIMITS])
{
    const uint8_t *members = entry.data + 8;
    const uint32_t setting =
        be32_get(entry.data) == LEDGER_ENTRY_CONFIG_SETTING ? be32_get(entry.data + 4) : UINT32_MAX;
    if (setting == 1 && be64_get(members + 8) < UINT32_MAX) /* CONTRACT_COMPUTE_V0, after one of the ledger */
        out[0] = (uint32_t)be64_get(members + 8);
    if (setting == 2) { /* CONTRACT_LEDGER_COST_V0, after four of the ledger and txMaxDiskReadEntries */
        out[1] = be32_get(members + 20);
        out[2] = be32_get(members + 28);
    }
}

enum err rpc_limits(struct rpc *rpc, uint32_t out[RPC_LIMITS], struct detail *detail)
{
    json_t *keys = json_pack("[s, s]", "AAAACAAAAAE=", "AAAACAAAAAI="); /* LedgerKeys of these settings */
    AUTO_JSON json_t *result = NULL;
    const json_t *entries, *item;
    size_t i;
    uint32_t ledger;
    enum err e = read_entries(rpc, keys, true, &result, &ledger, &entries, detail);
    memset(out, 0, RPC_LIMITS * sizeof out[0]);
    json_array_foreach(entries, i, item)
    {
        struct buf entry CLEANUP(buf_free) = {0};
        if (e == ERR_OK && (e = field_xdr(item, "xdr", &entry, detail)) == ERR_OK &&
            (e = xdr_check(XDR_LedgerEntryData, buf_bytes(&entry))) == ERR_OK)
            read_setting(buf_bytes(&entry), out);
    }
    return e;
}
