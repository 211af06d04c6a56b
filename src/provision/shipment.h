/*
 * A transaction of provisioning: stored before it leaves, sent until a ledger decides it. At most one is
 * under way; the sequence number of the distribution account admits no more.
 */
#ifndef FAIRWAY_PROVISION_SHIPMENT_H
#define FAIRWAY_PROVISION_SHIPMENT_H

#include "accounts.h"
#include "session.h"

struct shipment {
    int64_t id;
    enum template_kind kind;
    struct hash hash;
    struct buf envelope; /* shipment_wipe frees it */
};
void shipment_wipe(struct shipment *shipment);

/* Stores a signed transaction as the one that is under way. ERR_CONFLICT: there is one. In a transaction of
 * the session. */
MUST_CHECK enum err shipment_store(struct db *db, const struct template *template, struct bytes envelope,
    const struct hash *hash, struct detail *detail);

/*
 * The one that is under way, to be sent; *any is false when there is none. A transaction of its own. Any
 * error: it must not be sent, in particular ERR_NOT_REPLICATED: it, or the keys that it needs, may not be on
 * the standby that a synchronous database waits for.
 */
MUST_CHECK enum err shipment_read(
    struct session *session, bool *any, struct shipment *out, struct detail *detail);

/* How the latest one ended. */
struct shipment_fate {
    bool any, pending, succeeded;
    int64_t id;
    size_t accounts;
    enum template_kind kind;
    char words[80]; /* "txFAILED in ledger 7", "expired" */
};
MUST_CHECK enum err shipment_fate(struct db *db, struct shipment_fate *out, struct detail *detail);

#endif
