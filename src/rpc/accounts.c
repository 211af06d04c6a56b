#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "entries.h"
#include "field.h"
#include "stellar/ledger.h"

static json_t *ledger_keys(const struct public_key keys[], size_t count, char *texts[])
{
    json_t *list = json_array();
    struct buf key = {0};
    for (size_t i = 0; i < count; i++) {
        buf_clear(&key);
        account_ledger_key(&keys[i], &key);
        texts[i] = base64_encode(buf_bytes(&key));
        json_array_append_new(list, json_string(texts[i]));
    }
    buf_free(&key);
    return list;
}

static enum err decode_account(
    const json_t *item, const struct public_key *key, struct ledger_account *account, struct detail *detail)
{
    struct buf entry = {0};
    enum err e = field_xdr(item, "xdr", &entry, detail);
    if (e == ERR_OK) {
        e = account_entry_decode(buf_bytes(&entry), account);
        if (e == ERR_XDR_UNKNOWN_ARM)
            e = detail_set(detail, e, "getLedgerEntries: an account has what this fairway does not know");
        else if (e != ERR_OK || !public_key_equal(&account->key, key))
            e = detail_set(detail, ERR_RPC_REFUSED,
                "getLedgerEntries: an entry is not the account's that its key names");
    }
    buf_free(&entry);
    return e;
}

/* Answers follow the order of the request by custom only: the key says whose they are. */
static enum err read_entry(const json_t *item, const struct public_key keys[], char *const texts[],
    size_t count, struct rpc_account out[], struct detail *detail)
{
    const char *key;
    struct ledger_account account;
    size_t i = 0;
    enum err e = field_text(item, "key", &key, detail);
    if (e != ERR_OK)
        return e;
    while (i < count && (out[i].found || strcmp(texts[i], key) != 0))
        i++;
    if (i == count)
        return detail_set(detail, ERR_RPC_REFUSED, "getLedgerEntries: an entry that was not asked for");
    e = decode_account(item, &keys[i], &account, detail);
    if (e == ERR_OK)
        out[i] = (struct rpc_account){.found = true,
            .sequence = account.sequence,
            .own_authority = account.own_authority,
            .balance_stroops = account.balance_stroops,
            .reserves = account.reserves,
            .selling_stroops = account.selling_stroops};
    return e;
}

enum err rpc_accounts(struct rpc *rpc, const struct public_key keys[], size_t count, struct rpc_account out[],
    uint32_t *ledger, struct detail *detail)
{
    char *texts[RPC_ENTRIES_MAX];
    if (count == 0 || count > RPC_ENTRIES_MAX)
        return detail_set(detail, ERR_INTERNAL, "%zu accounts asked for at once", count);
    memset(out, 0, count * sizeof out[0]);
    AUTO_JSON result = NULL;
    const json_t *entries;
    enum err e = entries_read(rpc, ledger_keys(keys, count, texts), &result, ledger, &entries, detail);
    for (size_t i = 0; e == ERR_OK && i < json_array_size(entries); i++)
        e = read_entry(json_array_get(entries, i), keys, texts, count, out, detail);
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    return e;
}
