/*
 * What the database wants to know of the network when ledgers are lost: its accounts, the leases that are
 * open, and what provisioning has under way. Read when no grant is in flight and none can begin.
 */
#ifndef FAIRWAY_INGEST_SURVEY_H
#define FAIRWAY_INGEST_SURVEY_H

#include "underway.h"

enum survey_shipment {
    SHIPMENT_NONE,
    SHIPMENT_CREATION,
    SHIPMENT_MERGE,
};

struct surveyed {
    struct public_key key;
    bool active;
    enum survey_shipment shipment; /* the pending provisioning transaction would do this to it */
    bool leased;                   /* then: */
    struct hash lease;
    int64_t lease_sequence;
};

struct survey {
    struct surveyed *accounts; /* all that are not retired */
    size_t count;
    struct underway underway;
};

/*
 * Grants must be suspended, and that committed. Waits for those in flight (each holds the advisory lock of
 * pool/claim.c shared), as long as lock_timeout allows: ERR_DATABASE_UNAVAILABLE or ERR_TRY_AGAIN.
 */
MUST_CHECK enum err survey_take(struct db *db, struct survey *out, struct detail *detail);
void survey_free(struct survey *survey);

#endif
