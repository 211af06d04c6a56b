/*
 * One connection attempt on a thread of its own. Resolving a name may take any time, and libpq has no timeout
 * below two seconds, so the caller waits until its own deadline. The attempt continues after that, and the
 * next call waits for it again.
 */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct attempt;

/* Connects to url, copied as name is. NULL: no thread could be created. */
struct attempt *attempt_start(const char *url, const char *name, int timeout_s);

/*
 * Waits until the attempt ends or deadline_ms (clock_ms) passes. False: it has not ended; the attempt
 * continues. True: *conn is libpq's result, which the caller finishes, and the attempt is
 * freed.
 */
bool attempt_wait(struct attempt *attempt, int64_t deadline_ms, PGconn **conn);

/* Lets the attempt end on its own and closes its connection. NULL is fine. */
void attempt_abandon(struct attempt *attempt);
