/* Decides, in batches, which of the given accounts join the pool. A batch that did not commit is decided
 * again. */
#include "provision/import.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "pool/account_change.h"
#include "pool/account_read.h"
#include "session.h"

_Static_assert(KEYD_IMPORT_BATCH <= RPC_ENTRIES_MAX, "one call of the RPC reads a batch");

struct import {
    const struct import_settings *settings;
    struct session session;
    struct imported_key given[KEYD_IMPORT_BATCH];
    struct import_item items[KEYD_IMPORT_BATCH];
    size_t count;
    /* those that are not decided without the network, and what it says of them */
    struct import_item *open[KEYD_IMPORT_BATCH];
    struct public_key keys[KEYD_IMPORT_BATCH];
    size_t open_count;
};

static void decide(struct import_item *item, enum import_outcome outcome, const char *why)
{
    item->outcome = outcome;
    snprintf(item->why, sizeof item->why, "%s", why);
}

/* The line of the batch that has the same seed, before this one; NULL: none. */
static const struct import_item *given_before(const struct import *import, const struct import_item *item)
{
    for (const struct import_item *other = import->items; other < item; other++)
        if (other->given.result == ERR_OK && item->given.result == ERR_OK &&
            public_key_equal(&other->given.key.public_key, &item->given.key.public_key))
            return other;
    return NULL;
}

static void refuse_repeated(struct import *import)
{
    for (size_t i = 0; i < import->count; i++) {
        const struct import_item *other = given_before(import, &import->items[i]);
        if (other != NULL && other->outcome == IMPORT_REFUSED)
            decide(&import->items[i], IMPORT_REFUSED, other->why);
    }
}

/* Decides what the input and the pool decide, and lists the others in open and keys. */
static enum err read_pool(struct import *import, struct detail *detail)
{
    struct public_key keys[KEYD_IMPORT_BATCH] = {0};
    bool known[KEYD_IMPORT_BATCH];
    enum account_state states[KEYD_IMPORT_BATCH];
    import->open_count = 0;
    for (size_t i = 0; i < import->count; i++) {
        import->items[i] = (struct import_item){.given = import->given[i]};
        keys[i] = import->given[i].key.public_key;
    }
    enum err e = account_read_states(import->session.db, keys, import->count, known, states, detail);
    for (size_t i = 0; e == ERR_OK && i < import->count; i++) {
        struct import_item *item = &import->items[i];
        if (item->given.result != ERR_OK)
            decide(item, IMPORT_REFUSED, "not a secret seed (S...)");
        else if (public_key_equal(&keys[i], &import->settings->distribution))
            decide(item, IMPORT_REFUSED, "it is the distribution account");
        else if (known[i] && states[i] == ACCOUNT_RETIRED)
            decide(item, IMPORT_REFUSED, "it has left this pool; an account joins a pool once");
        else if (known[i] || given_before(import, item) != NULL)
            decide(item, IMPORT_KNOWN, known[i] ? account_state_name(states[i]) : "an earlier line has it");
        else {
            import->open[import->open_count] = item;
            import->keys[import->open_count++] = keys[i];
        }
    }
    return e;
}

/* What a client signs for a leased account needs a fee bump, which limits count, unless the account can pay.
 */
static const char *refusal(const struct account_entry *account, bool frozen, uint32_t ledger)
{
    const char *why = account_refusal(account, frozen, ledger);
    if (why == NULL && account->balance_stroops - BASE_RESERVE_STROOPS * account->reserves >= MIN_FEE_STROOPS)
        why = "it could pay fees, so its transactions need no fee bump: send what is above its reserve away"
              " first";
    return why;
}

/* Reads frozen accounts first: all that decides is as of the ledger of the second read, or audited later. */
static enum err read_network(const struct import *import, struct account_entry accounts[], bool frozen[],
    uint32_t *ledger, struct detail *detail)
{
    const struct feed *feed = &import->settings->feed;
    struct frozen_accounts list CLEANUP(frozen_accounts_free) = {0};
    uint32_t frozen_ledger;
    enum err e = feed->frozen(feed->source, &list, &frozen_ledger, detail);
    if (e == ERR_OK)
        e = feed->accounts(feed->source, import->keys, import->open_count, accounts, ledger, detail);
    for (size_t i = 0; e == ERR_OK && i < import->open_count; i++)
        frozen[i] = frozen_has(&list, &import->keys[i]);
    return e;
}

static enum err store(struct import *import, const struct generated_key keys[], const int64_t sequences[],
    size_t count, uint32_t ledger, struct detail *detail)
{
    enum err e = session_begin(&import->session, detail);
    if (e == ERR_OK)
        e = accounts_store(import->session.db, keys, sequences, count, ledger, detail);
    return session_end(&import->session, e, detail);
}

static enum err decide_open(struct import *import, struct detail *detail)
{
    struct account_entry accounts[KEYD_IMPORT_BATCH];
    struct generated_key keys[KEYD_IMPORT_BATCH];
    int64_t sequences[KEYD_IMPORT_BATCH];
    bool frozen[KEYD_IMPORT_BATCH];
    size_t count = 0;
    uint32_t ledger;
    enum err e = read_network(import, accounts, frozen, &ledger, detail);
    for (size_t i = 0; e == ERR_OK && i < import->open_count; i++) {
        const char *why = refusal(&accounts[i], frozen[i], ledger);
        decide(import->open[i], why == NULL ? IMPORT_TAKEN : IMPORT_REFUSED, why == NULL ? "" : why);
        if (why != NULL)
            continue;
        keys[count] = import->open[i]->given.key;
        sequences[count++] = accounts[i].sequence;
    }
    return e != ERR_OK || count == 0 ? e : store(import, keys, sequences, count, ledger, detail);
}

static enum err try_batch(struct import *import, struct detail *detail)
{
    enum err e = session_take(&import->session, detail);
    if (e == ERR_OK)
        e = read_pool(import, detail);
    if (e == ERR_OK && import->open_count > 0)
        e = decide_open(import, detail);
    if (e == ERR_OK)
        refuse_repeated(import);
    return e;
}

static enum err decide_batch(struct import *import, struct detail *detail)
{
    struct session_patience patience = {.waiting = "import-accounts is waiting",
        .timeout_s = import->settings->timeout_s,
        .poll_ms = import->settings->poll_ms};
    enum err e;
    do {
        *detail = (struct detail){0};
        e = try_batch(import, detail);
    } while (e != ERR_OK && session_try_again(&patience, e, detail));
    return e;
}

enum err import_all(
    const struct import_settings *settings, import_report report, void *context, struct detail *detail)
{
    struct import *import = NEW(struct import);
    import->settings = settings;
    import->session = session_new(settings->database_url, &settings->network);
    enum err e;
    do {
        e = keyd_import(settings->keyd, import->given, &import->count);
        if (e != ERR_OK)
            detail_set(detail, e, "the key process did not seal the seeds");
        else if (import->count > 0)
            e = decide_batch(import, detail);
        for (size_t i = 0; e == ERR_OK && i < import->count; i++)
            report(context, &import->items[i]);
    } while (e == ERR_OK && import->count > 0);
    session_free(&import->session);
    free(import);
    return e;
}
