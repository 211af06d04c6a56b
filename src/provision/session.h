/*
 * The session whose advisory lock keeps two provisioning processes apart. Everything that decides is done in
 * transactions of that very session: when its connection is lost, the lock and the transaction are lost
 * together.
 */
#ifndef FAIRWAY_PROVISION_SESSION_H
#define FAIRWAY_PROVISION_SESSION_H

#include "pool/submission.h"
#include "stellar/ids.h"

struct session {
    struct db *db; /* direct */
    int64_t lock;
    bool held;
    int32_t backend; /* the server process that holds the lock */
};

struct session session_new(const char *database_direct_url, const struct network_id *network);
void session_free(struct session *session);

/* ERR_NOT_LEADER: another process has the lock. Does nothing when it is held. */
MUST_CHECK enum err session_take(struct session *session, struct detail *detail);

/* BEGIN, under the lock. ERR_NOT_YET: it was lost with its connection; take it again. */
MUST_CHECK enum err session_begin(struct session *session, struct detail *detail);

/*
 * Reads the pending submission, to be sent, in a transaction of its own; *any is false when there is none.
 * After any error it must not be sent, in particular after ERR_NOT_REPLICATED: it, or the keys that it needs,
 * may not be on the standby that a synchronous database waits for.
 */
MUST_CHECK enum err session_read_submission(
    struct session *session, bool *any, struct signed_submission *out, struct detail *detail);

#endif
