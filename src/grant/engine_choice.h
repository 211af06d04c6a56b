/* What a worker of the engine does next: which queue it takes a batch from, and what for. The engine's mutex
 * is held. */
#ifndef FAIRWAY_GRANT_ENGINE_CHOICE_H
#define FAIRWAY_GRANT_ENGINE_CHOICE_H

#include "engine_state.h"

struct engine_choice {
    enum ticket_kind kind;
    enum grant_mode mode; /* of leases */
};

/* Returns false when there is nothing to do now. */
bool engine_choose(struct engine *engine, struct engine_choice *choice);
/* When a worker must look for work without being woken, if there is none now. 0: never. */
int64_t engine_choose_again_ms(const struct engine *engine);

/* In a shortage: accounts may have become idle, so a claim is due. */
void engine_accounts_released(struct engine *engine);
/* Wakes a worker if any ticket waits. */
void engine_wake_worker(struct engine *engine);

#endif
