/* getLedgers. The metadata is lifted from the response and never in a tree. Whether these are ledgers of the
 * network, ingest/cursor.c checks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/mem.h"
#include "call.h"
#include "field.h"

/* What stellar-rpc says when start is below or above its range. The beginning differs: some handlers put the
 * error code first, and the message about a cursor has other words. So only this part is searched for. */
static const char range_text[] = "between the oldest ledger: ";

static bool parse_range(const char *message, uint32_t *oldest, uint32_t *latest)
{
    uint64_t from, to;
    const char *at = strstr(message, range_text);
    if (at == NULL ||
        sscanf(at + strlen(range_text), "%" SCNu64 " and the latest ledger: %" SCNu64, &from, &to) != 2 ||
        from > UINT32_MAX || to > UINT32_MAX)
        return false;
    *oldest = (uint32_t)from;
    *latest = (uint32_t)to;
    return true;
}

/* Maps a refusal that is about the range to ERR_LEDGER_AHEAD or ERR_LEDGER_GAP. */
static enum err out_of_range(
    uint32_t start, uint32_t oldest, uint32_t latest, struct rpc_ledgers *out, struct detail *detail)
{
    out->latest_ledger = latest;
    /* A start within the range means that nodes of a load balancer differ; the caller retries. */
    return detail_set(detail, start < oldest ? ERR_LEDGER_GAP : ERR_LEDGER_AHEAD,
        "ledger %" PRIu32 " is outside %" PRIu32 " to %" PRIu32, start, oldest, latest);
}

/* The same when the message does not tell the range: few servers need it. What the detail says of the refusal
 * stays. */
static enum err ask_range(struct rpc *rpc, uint32_t start, struct rpc_ledgers *out, struct detail *detail)
{
    uint32_t oldest, latest;
    AUTO_JSON json_t *result = NULL;
    const enum err e = call(rpc, "getHealth", NULL, &result, NULL, NULL);
    if (e == ERR_CANCELLED || e == ERR_NOT_YET)
        return e;
    if (e != ERR_OK || field_u32(result, "oldestLedger", &oldest, NULL) != ERR_OK ||
        field_u32(result, "latestLedger", &latest, NULL) != ERR_OK || (start >= oldest && start <= latest))
        return ERR_RPC_REFUSED;
    return out_of_range(start, oldest, latest, out, detail);
}

/* Where the metadata of the ledger at this place in the list was, its place among what was lifted is. */
static enum err read_meta(
    const json_t *item, size_t place, const struct lift *lifted, struct bytes *meta, struct detail *detail)
{
    uint32_t lifted_as;
    enum err e = field_u32(item, lifted->member, &lifted_as, detail);
    if (e == ERR_OK && (lifted_as != place || place >= lifted->count))
        e = detail_set(detail, ERR_RPC_UNAVAILABLE, "the metadata of a ledger is malformed in the response");
    if (e != ERR_OK)
        return e;
    *meta = lifted->items[place];
    return meta->len > 0
               ? ERR_OK
               : detail_set(detail, ERR_RPC_UNAVAILABLE, "the metadata of a ledger is empty in the response");
}

static enum err read_ledger(const json_t *item, size_t place, const struct lift *lifted,
    struct rpc_ledger *ledger, struct detail *detail)
{
    const char *hash;
    enum err e = field_u32(item, "sequence", &ledger->sequence, detail);
    if (e == ERR_OK)
        e = field_text(item, "hash", &hash, detail);
    if (e == ERR_OK && hash_decode(hash, &ledger->hash) != ERR_OK)
        e = detail_set(detail, ERR_RPC_UNAVAILABLE, "the hash of a ledger is malformed in the response");
    return e != ERR_OK ? e : read_meta(item, place, lifted, &ledger->meta, detail);
}

static enum err read_ledgers(const json_t *result, const struct lift *lifted, uint32_t start, uint32_t limit,
    struct rpc_ledgers *out, struct detail *detail)
{
    enum err e = field_u32(result, "latestLedger", &out->latest_ledger, detail);
    if (e != ERR_OK)
        return e;
    const json_t *items = json_object_get(result, "ledgers");
    size_t count = json_array_size(items); /* 0 when it is not an array */
    if (count == 0 && start > out->latest_ledger)
        return ERR_LEDGER_AHEAD;
    if (count == 0 || count > limit)
        return detail_set(detail, ERR_RPC_UNAVAILABLE,
            "getLedgers returned %zu ledgers instead of 1 to %" PRIu32, count, limit);
    out->items = NEW_ARRAY(count, struct rpc_ledger);
    for (out->count = 0; out->count < count && e == ERR_OK; out->count++)
        e = read_ledger(
            json_array_get(items, out->count), out->count, lifted, &out->items[out->count], detail);
    return e;
}

enum err rpc_ledgers(
    struct rpc *rpc, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct call_error error;
    uint32_t oldest, latest;
    AUTO_JSON json_t *result = NULL;
    CLEANUP(lift_free) struct lift lifted = {.member = "metadataXdr"};
    INVARIANT(limit <= LIFT_MAX);
    *out = (struct rpc_ledgers){0};
    if (call_is_of(rpc, "getHealth"))
        return ask_range(rpc, start, out, detail);
    json_t *params = json_pack("{s:I, s:{s:I}, s:s}", "startLedger", (json_int_t)start, "pagination", "limit",
        (json_int_t)limit, "xdrFormat", "base64");
    enum err e = call_with(rpc, "getLedgers", params,
        &(struct call_options){.error = &error, .lifted = &lifted}, &result, detail);
    if (e == ERR_RPC_REFUSED && (error.code == CALL_INVALID_REQUEST || error.code == CALL_INVALID_PARAMS))
        return parse_range(error.message, &oldest, &latest) ? out_of_range(start, oldest, latest, out, detail)
                                                            : ask_range(rpc, start, out, detail);
    if (e == ERR_OK)
        e = read_ledgers(result, &lifted, start, limit, out, detail);
    if (e != ERR_OK) {
        const uint32_t latest_ledger = out->latest_ledger;
        rpc_ledgers_free(out);
        out->latest_ledger = latest_ledger;
        return e;
    }
    out->storage = lifted.text;
    lifted.text = (struct buf){0};
    return ERR_OK;
}

void rpc_ledgers_free(struct rpc_ledgers *ledgers)
{
    free(ledgers->items);
    buf_free(&ledgers->storage);
    *ledgers = (struct rpc_ledgers){0};
}
