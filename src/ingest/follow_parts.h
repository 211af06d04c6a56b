/* Inside follow: what asks addresses, and what judges their answers. */
#pragma once

#include "follow.h"

struct chain_rules follow_rules(const struct follow *follow);
/* Ends a chain, and forgets what the address has said about the ledger due. */
void follow_forget(struct follow_source *source);

bool follow_is_waited_for(const struct follow_source *source);
/* It was late, or has served what is not the network's. Logged when it was waited for. */
void follow_put_away(struct follow *follow, size_t i, const char *why);
/* It hangs, fails, or serves what nobody can use: the same with signatures. Without, one that is alone is not
 * believed sooner because of it. */
void follow_fails(struct follow *follow, size_t i, const char *why);
/* Whether an answer is still waited for. */
bool follow_waits(struct follow *follow);
/* Whether the answer of this address is, and is not late yet (FOLLOW_HANGS_MS). */
bool follow_is_pending(const struct follow *follow, size_t i);

/* Whether two first ledgers are signed that differ: results were forged, or a set was proposed and lost. */
bool follow_is_disputed(const struct follow *follow);
/* The first address whose ledger those prove that came with it; NULL: none. */
const struct follow_source *follow_find_proved(struct follow *follow);
/* Returns its ledger. */
enum err follow_found(struct follow *follow, const struct follow_source *source, struct follow_ledger *out);
/* What the answers come to: the result of follow_next. */
enum err follow_judge(struct follow *follow, bool whole, struct follow_ledger *out, struct detail *detail);
