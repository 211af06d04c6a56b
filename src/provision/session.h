/*
 * The database session that holds the provisioning lock, which admits one provisioning process at a time.
 * Every decision is made in a transaction of this session: if the connection is lost, the lock and the
 * transaction are lost together.
 */
#pragma once

#include "pool/provisioning.h"
#include "stellar/ids.h"

struct session {
    struct db *db; /* direct */
    int64_t lock;
    bool locked;
    int32_t backend; /* process id of the server process that holds the lock */
};

struct session session_new(const char *database_url, const struct network_id *network);
void session_free(struct session *session);

/* Takes the lock if this session does not have it. ERR_NOT_LEADER: another process has it. */
MUST_CHECK enum err session_take(struct session *session, struct detail *detail);

/* BEGIN, under the lock. ERR_NOT_YET: the lock was lost with its connection; call session_take again. */
MUST_CHECK enum err session_begin(struct session *session, struct detail *detail);
/* Ends that transaction: COMMIT if e, of what was done in it, is ERR_OK; else ROLLBACK, and e. */
MUST_CHECK enum err session_end(struct session *session, enum err e, struct detail *detail);

/* How long a command tries again. */
struct session_patience {
    const char *waiting; /* what is logged */
    unsigned timeout_s, poll_ms;
    int64_t deadline_ms; /* clock_ms(); 0: all is well */
    struct detail logged;
};
/* After an error: whether to try again, for timeout_s, and for as long as another process has the lock.
 * Pauses then, and logs a new reason once. */
bool session_try_again(struct session_patience *patience, enum err e, const struct detail *detail);

/*
 * Reads the pending provisioning transactions in a database transaction of its own. They may be sent only
 * after ERR_OK: after ERR_NOT_REPLICATED, for example, the synchronous standby may lack one, or keys that it
 * needs. *out is empty after an error.
 */
MUST_CHECK enum err session_read_pending(
    struct session *session, struct provisioning_list *out, struct detail *detail);
