/* Takes the lead where a session that had it before may just have ended. */
#pragma once

#include "../../../src/ingest/ledger_commit.h"

/* As lead_take, which must succeed. Retries for some seconds, because a session keeps its locks until the
 * server has ended it. */
void take_lead(struct lead *lead);

/* Commits a ledger as an RPC has returned it, when it is the next one after the cursor, or while that is not
 * known; else returns the error of cursor_check or ledger_decode. */
enum err commit_received(struct lead *lead, const struct rpc_ledger *received, struct ledger_committed *out,
    struct detail *detail);
