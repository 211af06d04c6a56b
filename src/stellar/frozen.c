/* Reads the list of frozen keys. Whether the network really has it, no hash says. */
#include "stellar/frozen.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stellar/account.h"

/* An EncodedLedgerKey is the length of a LedgerKey and its bytes. Trust lines, contract data and contract
 * code can be frozen too; they are skipped. */
static enum err read_key(struct xdr_reader *reader, struct public_key *key, bool *is_account)
{
    struct bytes encoded;
    uint32_t len, type;
    enum err e = xdr_take(reader, XDR_EncodedLedgerKey, &encoded);
    if (e != ERR_OK)
        return e;
    struct xdr_reader inside = xdr_reader(encoded);
    if ((e = xdr_u32(&inside, &len)) != ERR_OK)
        return e;
    inside.end = inside.at + len;
    if ((e = xdr_u32(&inside, &type)) != ERR_OK)
        return e;
    *is_account = type == LEDGER_ENTRY_ACCOUNT;
    if (!*is_account)
        return ERR_OK;
    e = account_id_read(&inside, key);
    return e != ERR_OK ? e : xdr_end(&inside);
}

static enum err read_keys(struct xdr_reader *reader, struct frozen_accounts *out)
{
    uint32_t count;
    enum err e = xdr_count(reader, UINT32_MAX, &count);
    for (uint32_t i = 0; e == ERR_OK && i < count; i++) {
        struct public_key key;
        bool is_account = false;
        e = read_key(reader, &key, &is_account);
        if (e != ERR_OK || !is_account)
            continue;
        out->keys = mem_grow(out->keys, out->count + 1, sizeof key);
        out->keys[out->count++] = key;
    }
    if (out->count > 1)
        qsort(out->keys, out->count, sizeof out->keys[0], public_key_compare);
    return e;
}

enum err frozen_entry_decode(struct bytes entry, struct frozen_accounts *out)
{
    uint32_t type, setting;
    *out = (struct frozen_accounts){0};
    enum err e = xdr_check(XDR_LedgerEntryData, entry);
    if (e != ERR_OK)
        return e;
    struct xdr_reader reader = xdr_reader(entry);
    if ((e = xdr_u32(&reader, &type)) != ERR_OK || type != LEDGER_ENTRY_CONFIG_SETTING ||
        (e = xdr_u32(&reader, &setting)) != ERR_OK || setting != CONFIG_SETTING_FROZEN_LEDGER_KEYS)
        return e != ERR_OK ? e : ERR_MALFORMED;
    e = read_keys(&reader, out);
    if (e != ERR_OK)
        frozen_accounts_free(out);
    return e;
}

void frozen_ledger_key(struct buf *out)
{
    buf_add_u32(out, LEDGER_ENTRY_CONFIG_SETTING);
    buf_add_u32(out, CONFIG_SETTING_FROZEN_LEDGER_KEYS);
}

bool frozen_has(const struct frozen_accounts *frozen, const struct public_key *key)
{
    return frozen->count > 0 &&
           bsearch(key, frozen->keys, frozen->count, sizeof frozen->keys[0], public_key_compare) != NULL;
}

void frozen_accounts_free(struct frozen_accounts *frozen)
{
    free(frozen->keys);
    *frozen = (struct frozen_accounts){0};
}
