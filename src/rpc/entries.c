#include "entries.h"

#include "base/clock.h"
#include "base/mem.h"
#include "field.h"

#define RETRIES_MS 2000
#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 320

static enum err call_with_retries(struct rpc *rpc, json_t *params, json_t **result, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + RETRIES_MS;
    struct call_error error;
    for (int pause_ms = PAUSE_MIN_MS;; pause_ms = pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS) {
        enum err e = call(rpc, "getLedgerEntries", json_incref(params), result, &error, detail);
        if (e != ERR_RPC_UNAVAILABLE || error.code != CALL_INTERNAL_ERROR || clock_left_ms(deadline_ms) == 0)
            return e;
        e = transport_pause(rpc->transport, pause_ms);
        if (e != ERR_OK)
            return detail_set(detail, e, "getLedgerEntries: stopping");
    }
}

enum err entries_read(struct rpc *rpc, json_t *keys, json_t **result, uint32_t *ledger,
    const json_t **entries, struct detail *detail)
{
    AUTO_JSON params = json_pack("{s:o, s:s}", "keys", keys, "xdrFormat", "base64");
    enum err e = call_with_retries(rpc, params, result, detail);
    if (e == ERR_OK)
        e = field_u32(*result, "latestLedger", ledger, detail);
    *entries = json_object_get(*result, "entries");
    return e;
}
