#include "witness_others.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"

bool witness_asks(const struct witness *witness, size_t i)
{
    return witness->rpc == NULL || rpc_address(witness->rpc) != i + 1;
}

bool witness_is_rpc_error(enum err e)
{
    return e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED;
}

void witness_answered(struct witness *witness)
{
    if (witness->next_try_ms != 0)
        log_info("a second RPC responds again; ledgers are compared again", NULL);
    outage_end(&witness->outage);
    witness->next_try_ms = 0;
}

enum err witness_missing(struct witness *witness, enum err wait, struct detail *detail)
{
    const int64_t now = clock_ms();
    if (!outage_lasts(&witness->outage, now))
        return detail_set(detail, wait, "no other RPC of RPC_URL has answered yet");
    if (witness->next_try_ms == 0)
        log_warn("no second RPC responds, or it lags; ledgers are not compared until one does",
            "waited_ms=%" PRId64, now - witness->outage.since_ms);
    witness->next_try_ms = now + witness->outage.limit_ms;
    return ERR_OK;
}

bool witness_given_up(const struct witness *witness)
{
    return witness->count == 0 || (witness->next_try_ms != 0 && clock_left_ms(witness->next_try_ms) > 0);
}
