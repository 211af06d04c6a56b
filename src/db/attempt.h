/*
 * One attempt to connect, on a thread of its own: resolving a host's name and connecting take as long as the
 * network lets them, and libpq knows no limit below two seconds. The caller waits until its deadline; the
 * attempt goes on and can be waited for again.
 */
#ifndef FAIRWAY_DB_ATTEMPT_H
#define FAIRWAY_DB_ATTEMPT_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attempt;

/* PQconnectdbParams(names, values, 1) begins. Both are count strings, copied. NULL: no thread can be made. */
struct attempt *attempt_start(const char *const names[], const char *const values[], size_t count);

/*
 * Waits until the attempt has ended or deadline_ms (clock_ms) has passed; in the latter case returns false
 * and the attempt goes on. Otherwise *conn is what PQconnectdbParams returned, the caller's to finish, and
 * the attempt is freed.
 */
bool attempt_wait(struct attempt *attempt, int64_t deadline_ms, PGconn **conn);

/* Whatever comes of it is closed. NULL is fine. */
void attempt_abandon(struct attempt *attempt);

#endif
