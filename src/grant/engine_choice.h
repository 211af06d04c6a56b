/* The decisions of the lease engine: what a worker does next, when the next claim is due, and who waits for
 * another batch after one that failed. Pure functions; the engine's mutex is held when they read it. */
#pragma once

#include "engine_state.h"

/* In a shortage, each replica claims at least so often. Its reports are valid for 1 s (fairway.waiting_now).
 */
#define ENGINE_CLAIM_MS 250
/* After a claim that left idle accounts to other replicas. fairway.share_of_idle has this time too. */
#define ENGINE_CLAIM_SOON_MS 50
/* Between attempts at a request whose idempotency key another transaction has locked; first, as long as a
 * grant takes. */
#define ENGINE_KEY_DELAY_FIRST_MS 5
#define ENGINE_KEY_DELAY_MAX_MS 500

/* The next batch: its queue and, for leases, its mode. */
struct engine_choice {
    enum ticket_kind kind;
    enum grant_mode mode;
};

/* Returns false when there is nothing to do now. */
bool engine_choose(const struct engine *engine, int64_t now_ms, struct engine_choice *choice);
/* When a worker must look for work without being woken, if there is none now. 0: never. */
int64_t engine_choose_again_ms(const struct engine *engine);

/* How long a claim that left requests without an account waits for the next one. */
int engine_claim_delay_ms(const struct grant_batch *claim);

/* When the ticket has waited long enough, and when it must be decided. */
int64_t engine_wait_end_ms(const struct engine_ticket *ticket);
int64_t engine_answer_end_ms(const struct engine_ticket *ticket);
/* A batch that ran from began_ms and had this deadline. */
struct engine_run {
    int64_t began_ms, deadline_ms;
};
/* Whether a batch that failed with e may be run again at once. Nothing of it was committed. */
bool engine_runs_again(const struct engine_run *run, enum err e, int64_t now_ms);
/* Whether an open ticket of it waits for another batch. False: it is refused with e. After a failure at once
 * another batch would fail too. */
bool engine_waits_on(
    const struct engine_run *run, enum err e, const struct engine_ticket *ticket, int64_t now_ms);
/* The delay before the next attempt at a locked key, after one of delay_ms (0: none). */
int engine_key_delay_ms(int delay_ms);
