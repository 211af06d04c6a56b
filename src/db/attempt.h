/*
 * One connection attempt on a thread of its own. Resolving a name may take any time, and libpq has no timeout
 * below two seconds, so the caller waits until its own deadline. The attempt continues after that, and the
 * next call waits for it again.
 */
#ifndef FAIRWAY_DB_ATTEMPT_H
#define FAIRWAY_DB_ATTEMPT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt;

/* Starts PQconnectdbParams(names, values, 1). Both have count strings, which are copied. NULL: no thread
 * could be created. */
struct attempt *attempt_start(const char *const names[], const char *const values[], size_t count);

/*
 * Waits until the attempt ends or deadline_ms (clock_ms) passes. False: it has not ended; the attempt
 * continues. True: *conn is the result of PQconnectdbParams, which the caller finishes, and the attempt is
 * freed.
 */
bool attempt_wait(struct attempt *attempt, int64_t deadline_ms, PGconn **conn);

/* Lets the attempt end on its own and closes its connection. NULL is fine. */
void attempt_abandon(struct attempt *attempt);

#endif
