/* Sends what is stored as pending. How a transaction ended is never decided here: only a ledger does. */
#include "outgoing.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "stellar/result.h"

#define REFUSED_TRIES 5 /* within the time of a ledger */

void outgoing_add(struct outgoing *outgoing, enum provisioning_kind kind, size_t accounts, bool bumped)
{
    outgoing->changed = true;
    if (outgoing->count < OUTGOING_MAX)
        outgoing->items[outgoing->count++] =
            (struct outgoing_item){.kind = kind, .accounts = accounts, .bumped = bumped};
}

static bool is_due(const struct outgoing *outgoing)
{
    for (size_t i = 0; i < outgoing->count; i++)
        if (clock_left_ms(outgoing->items[i].due_ms) == 0)
            return true;
    return false;
}

/* The list as it was read. What is known of those that were in it before stays. */
static void take_list(struct outgoing *outgoing, const struct provisioning_list *list)
{
    const struct outgoing before = *outgoing;
    *outgoing = (struct outgoing){0};
    for (size_t i = 0; i < list->count && i < OUTGOING_MAX; i++) {
        const struct provisioning_pending *from = &list->items[i];
        struct outgoing_item *item = &outgoing->items[outgoing->count++];
        *item = (struct outgoing_item){
            .id = from->id, .kind = from->kind, .accounts = from->accounts, .bumped = from->bumped};
        for (size_t b = 0; b < before.count; b++)
            if (before.items[b].id == from->id)
                *item = before.items[b];
    }
}

/* A refusal after an answer that was none is no news: a ledger that is not ingested yet has the transaction,
 * or the node has dropped it. */
static void send(
    struct outgoing_item *item, const struct provisioning_pending *stored, struct rpc *rpc, int ledger_ms)
{
    struct detail detail = {0};
    struct rpc_sent sent = {.name = "none"};
    char hex[HASH_HEX_SIZE];
    hash_encode(&stored->hash, hex);
    const enum err e = rpc_send(rpc, buf_bytes(&stored->envelope), &sent, &detail);
    const bool queued = e == ERR_OK && (sent.status == RPC_SEND_PENDING || sent.status == RPC_SEND_DUPLICATE);
    const enum log_level level = queued || item->queued || item->warned ? LOG_DEBUG : LOG_WARN;
    item->queued |= queued;
    item->warned |= !queued;
    item->due_ms = clock_ms() + (queued ? ledger_ms : ledger_ms / REFUSED_TRIES);
    if (e != ERR_OK)
        log_line(level, "sending the transaction failed; retrying", "hash=%s error=%s detail=\"%s\"", hex,
            err_code(e), detail.text);
    else if (!queued)
        log_line(level, "Stellar RPC refused the transaction; retrying", "hash=%s status=%s code=%s", hex,
            sent.name, sent.status == RPC_SEND_ERROR ? result_code_name(sent.code) : "none");
    else
        log_debug("transaction sent", "hash=%s status=%s", hex, sent.name);
}

enum err outgoing_send(struct outgoing *outgoing, struct session *session, struct rpc *rpc,
    unsigned ledger_ms, struct detail *detail)
{
    struct provisioning_list list CLEANUP(provisioning_pending_free) = {0};
    if (!outgoing->changed && !is_due(outgoing))
        return ERR_OK;
    enum err e = session_read_pending(session, &list, detail);
    if (e != ERR_OK)
        return e;
    take_list(outgoing, &list);
    for (size_t i = 0; i < outgoing->count; i++)
        if (clock_left_ms(outgoing->items[i].due_ms) == 0)
            send(&outgoing->items[i], &list.items[i], rpc, (int)ledger_ms);
    return ERR_OK;
}
