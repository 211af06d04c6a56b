/* Pauses between tries of what fails: each about twice the one before, up to a limit, with jitter so that
 * replicas that failed together do not retry together. */
#pragma once

struct backoff {
    unsigned pause_ms; /* the last one, without its jitter; 0: no failure since the last success */
};

/* Returns the pause after one more failure. The first is at most first_ms, none is longer than max_ms, and
 * jitter takes off up to half. */
unsigned backoff_next(struct backoff *backoff, unsigned first_ms, unsigned max_ms);

/* A try succeeded: the next pause is a first one again. */
void backoff_reset(struct backoff *backoff);
