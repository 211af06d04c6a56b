/* What the metadata of a ledger says of accounts. No hash covers it, and fairway does not read it: here it
 * shows that all that can change an account is named in the transaction set. */
#pragma once

#include <jansson.h>

#include "stellar/ledger.h"

struct changes {
    struct change *list;
    size_t count, cap;
};

/* Collects the changes of the metadata that ledger_decode has accepted. Free them with changes_free. */
struct changes changes_of(struct bytes meta);
void changes_free(struct changes *changes);

/* The last state of each account: its sequence number, or null. Sorts the changes. */
json_t *changes_json(struct changes *changes);

/* The first account with a change that no transaction or operation of the ledger explains; NULL: none. */
const struct public_key *changes_unexplained(const struct changes *changes, const struct ledger *ledger);
