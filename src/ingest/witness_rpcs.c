#include "witness_rpcs.h"

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"

void witness_order(const struct witness *witness, size_t order[RPC_ADDRESSES_MAX])
{
    const size_t followed = witness->followed, second = witness->confirmed_by;
    size_t count = 0;
    order[count++] = followed;
    if (second != followed)
        order[count++] = second;
    for (size_t i = 0; i < witness->count; i++)
        if (i != followed && i != second)
            order[count++] = i;
}

const struct feed *witness_asked(const struct witness *witness, size_t i)
{
    return i == witness->followed ? &witness->rpcs[i].feed : &witness->rpcs[i].check;
}

bool witness_asks(const struct witness *witness, size_t i)
{
    return clock_left_ms(witness->rpcs[i].left_out_ms) == 0;
}

void witness_follow(struct witness *witness, size_t i, const char *why)
{
    log_warn("ledgers are read from another RPC of RPC_URL", "failed=%zu next=%zu reason=\"%s\"",
        witness->followed + 1, i + 1, why);
    witness->rpcs[i].left_out_ms = 0;
    witness->followed = i;
}

void witness_confirms(struct witness *witness, size_t i)
{
    struct witness_rpc *rpc = &witness->rpcs[i];
    if (rpc->left_out_ms != 0)
        log_info("an RPC has the latest ledger again; it takes part again", "rpc=%zu", i + 1);
    rpc->left_out_ms = 0;
    witness->confirmed_by = i;
    outage_end(&witness->unconfirmed);
}

void witness_leave_out(struct witness *witness, size_t i)
{
    witness->rpcs[i].left_out_ms = clock_ms() + WITNESS_GIVE_UP_MS;
}

void witness_leave_out_others(struct witness *witness)
{
    if (!witness_alone(witness))
        log_warn("no other RPC of RPC_URL has confirmed ledgers for long; one is believed alone until "
                 "another does",
            "rpc=%zu", witness->followed + 1);
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->followed)
            witness_leave_out(witness, i);
}

bool witness_alone(const struct witness *witness)
{
    for (size_t i = 0; i < witness->count; i++)
        if (i != witness->followed && witness->rpcs[i].left_out_ms == 0)
            return false;
    return true;
}

bool witness_is_rpc_error(enum err e)
{
    return e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED;
}
