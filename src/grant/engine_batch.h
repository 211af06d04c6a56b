/*
 * Moves tickets from the engine's queues to a batch and back: which tickets a worker takes, for which kind of
 * grant, and what happens to them afterwards. The functions lock the engine's mutex themselves.
 */
#ifndef FAIRWAY_GRANT_ENGINE_BATCH_H
#define FAIRWAY_GRANT_ENGINE_BATCH_H

#include "engine_state.h"

/* The tickets of a batch, all of one kind, and what they contain in the form that grant_batch_run or
 * bump_batch_run takes. */
struct engine_batch {
    enum ticket_kind kind;
    struct engine_ticket *tickets[GRANT_BATCH_MAX];
    size_t count;
    struct bump *bumps[GRANT_BATCH_MAX];
    struct grant *grants[GRANT_BATCH_MAX];
    struct grant_sharing sharing;
    struct grant_batch grant;
};

/* Blocks until there may be a batch to take. Returns false when the engine stops. */
bool engine_batch_wait(struct engine *engine);
/* Chooses a queue and a mode, and takes tickets. Returns false when another worker has already taken them. */
bool engine_batch_take(struct engine *engine, struct engine_batch *batch);
/* The deadline of the batch's oldest ticket, by clock_ms: the limit for all calls to the database. */
int64_t engine_batch_deadline_ms(const struct engine_batch *batch);

/* After a batch that ran without error: calls done for the tickets that are decided, and puts the others back
 * into the queue. */
void engine_batch_finish(struct engine *engine, struct engine_batch *batch);
/* After a batch that failed: all its tickets are refused. */
void engine_batch_fail(
    struct engine *engine, struct engine_batch *batch, enum err e, const struct detail *detail);
/* After a GRANT_CLAIM_SHARE that failed, whose tickets are to be granted in other batches. */
void engine_batch_abandon_claim(struct engine *engine);

#endif
