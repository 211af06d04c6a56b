/* Reads the list of frozen keys. Whether the network really has it, no hash says. */
#include "stellar/frozen.h"

#include <stdlib.h>

#include "base/mem.h"
#include "stellar/account.h"

/* An EncodedLedgerKey is the length of a LedgerKey and its bytes. Trust lines, contract data and contract
 * code can be frozen too; they are skipped. */
static enum err add_key(struct bytes encoded, struct frozen_accounts *out)
{
    struct xdr_reader in = xdr_reader(encoded);
    const uint32_t len = xdr_u32(&in);
    in = xdr_reader((struct bytes){in.at, len});
    if (xdr_u32(&in) != LEDGER_ENTRY_ACCOUNT)
        return in.e;
    const struct public_key key = account_id_read(&in);
    const enum err e = xdr_end(&in);
    if (e != ERR_OK)
        return e;
    out->keys = mem_grow(out->keys, out->count + 1, sizeof key);
    out->keys[out->count++] = key;
    return ERR_OK;
}

enum err frozen_entry_decode(struct bytes entry, struct frozen_accounts *out)
{
    *out = (struct frozen_accounts){0};
    enum err e = xdr_check(XDR_LedgerEntryData, entry);
    if (e != ERR_OK)
        return e;
    struct xdr_reader reader = xdr_reader(entry);
    const uint32_t type = xdr_u32(&reader), setting = xdr_u32(&reader);
    if (type != LEDGER_ENTRY_CONFIG_SETTING || setting != CONFIG_SETTING_FROZEN_LEDGER_KEYS)
        return ERR_MALFORMED;
    for (uint32_t count = xdr_u32(&reader); e == ERR_OK && count > 0; count--)
        e = add_key(xdr_take(&reader, XDR_EncodedLedgerKey), out);
    if (out->count > 1)
        qsort(out->keys, out->count, sizeof out->keys[0], public_key_compare);
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
