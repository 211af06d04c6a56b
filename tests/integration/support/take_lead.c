#include "take_lead.h"

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

#define PATIENCE_MS 10000
#define POLL_MS 10

void take_lead(struct lead *lead)
{
    struct detail detail = {0};
    const int64_t end_ms = clock_ms() + slower(PATIENCE_MS);
    enum err e = lead_take(lead, &detail);
    for (; e != ERR_OK && clock_left_ms(end_ms) > 0; e = lead_take(lead, &detail))
        clock_sleep_ms(POLL_MS);
    if (e != ERR_OK)
        fail_msg("cannot take the lead: %s: %s", err_code(e), detail.text);
}

enum err commit_received(
    struct lead *lead, const struct rpc_ledger *received, struct ledger_committed *out, struct detail *detail)
{
    struct ledger ledger CLEANUP(ledger_free) = {0};
    const struct cursor *cursor = &lead->cursor;
    enum err e = ledger_decode(received->meta, &lead->network, &ledger, detail);
    if (e == ERR_OK)
        e = cursor_check(
            cursor, cursor->known ? cursor->sequence + 1 : received->sequence, received, &ledger, detail);
    return e == ERR_OK ? ledger_commit(lead, &ledger, NULL, out, detail) : e;
}
