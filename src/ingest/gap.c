#include "gap.h"

#include "base/mem.h"
#include "gap_snapshot.h"
#include "pool/grants_allowed.h"

enum err gap_recover(
    struct lead *lead, const struct feed *feed, struct ledger_committed *out, struct detail *detail)
{
    struct gap_snapshot snapshot CLEANUP(gap_snapshot_free) = {0};
    struct gap_evidence evidence CLEANUP(gap_evidence_free) = {0};
    *out = (struct ledger_committed){0};
    enum err e = grants_stop_for_gap(lead->db, lead->term, detail);
    /* A grant that is committed after the snapshot would be missing in it. */
    if (e == ERR_OK)
        e = grants_wait_out(lead->db, detail);
    if (e == ERR_OK)
        e = gap_snapshot_read(lead->db, &snapshot, detail);
    if (e == ERR_OK)
        e = gap_evidence_read(feed, &lead->network, &lead->cursor, &snapshot, &evidence, detail);
    if (e == ERR_OK)
        e = ledger_commit_after_gap(lead, &evidence, out, detail);
    return e;
}
