#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "entries.h"
#include "field.h"

static enum err read_entry(
    const json_t *item, const char *key, struct frozen_accounts *out, struct detail *detail)
{
    struct buf entry = {0};
    const char *theirs;
    enum err e = field_text(item, "key", &theirs, detail);
    if (e == ERR_OK && strcmp(theirs, key) != 0)
        return detail_set(detail, ERR_RPC_REFUSED, "getLedgerEntries: an entry that was not asked for");
    if (e == ERR_OK)
        e = field_xdr(item, "xdr", &entry, detail);
    if (e == ERR_OK) {
        e = frozen_entry_decode(buf_bytes(&entry), out);
        if (e != ERR_OK)
            e = detail_set(detail, e == ERR_XDR_UNKNOWN_ARM ? e : ERR_RPC_REFUSED,
                "getLedgerEntries: the list of frozen keys does not decode (%s)", err_code(e));
    }
    buf_free(&entry);
    return e;
}

enum err rpc_frozen(struct rpc *rpc, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct buf bytes = {0};
    *out = (struct frozen_accounts){0};
    frozen_ledger_key(&bytes);
    AUTO_FREE char *key = base64_encode(buf_bytes(&bytes));
    buf_free(&bytes);
    AUTO_JSON result = NULL;
    const json_t *entries;
    enum err e = entries_read(rpc, json_pack("[s]", key), &result, ledger, &entries, detail);
    if (e != ERR_OK || json_array_size(entries) == 0)
        return e;
    return read_entry(json_array_get(entries, 0), key, out, detail);
}
