/*
 * The addresses that this process asks, one for each URL, whoever asks it: what has failed there lately
 * concerns all. They live as long as the process. Any thread.
 */
#pragma once

#include <stdatomic.h>

#include "base/fair_queue.h"
#include "rpc/rpc.h"

/* Whose transfer begins first when several wait for an address. */
enum rpc_class {
    RPC_LEDGERS,
    RPC_SENDS,
    RPC_READS,
    RPC_SIMULATIONS,
    RPC_CLASSES
};

struct address {
    const char *url;
    struct address *next;
    /* The loop's thread alone uses the next three. */
    struct fair_queue waiting[RPC_CLASSES];
    unsigned open[RPC_CLASSES];
    bool resolved; /* its host's name, for the last transfer */
    /* address.c's: until when it is asked last, and asked for no simulation; when the last one began, and how
     * long after it the next one may. */
    int64_t last_until_ms, refuses_until_ms, turn_ms;
    unsigned gap_ms;
    atomic_bool avoided; /* asked last of all */
};

/* Finds it, or makes it. */
struct address *address_of(const char *url);
/* All of them: a list. */
struct address *address_first(void);

/* What came of a call that began at begun_ms. */
enum address_outcome {
    ADDRESS_WORKS,
    ADDRESS_FAILS,
    ADDRESS_REFUSES /* HTTP status 429 or 503, or no answer in time to what is no simulation */
};
/* One that fails is asked last for some seconds. One that refuses is asked for no simulation either, for as
 * long as it says; then for fewer a second: half as many after each refusal, up to one in half a minute, and
 * an eighth more after each answer. retry_after_s: 0: it does not say. */
void address_note(
    struct address *address, enum address_outcome outcome, int64_t begun_ms, int64_t retry_after_s);

/* Whether a simulation may begin now, which then has. */
bool address_take_turn(struct address *address);
struct address_state {
    unsigned rank;  /* lower ones are asked before. 0; or it has failed lately, is avoided, or both */
    bool is_scarce; /* it has refused in the last minute */
    int refuses_ms; /* until it may be asked for a simulation */
};
struct address_state address_state(struct address *address);

/* For tests: nothing has failed. */
void address_forget(void);
