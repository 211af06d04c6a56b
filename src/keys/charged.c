/* Remembers what fee bumps were charged. What it has forgotten is charged in full again, never less. */
#include "charged.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"

struct entry {
    struct hash transaction;
    int64_t fee_stroops; /* 0: the entry is empty */
};

struct charged {
    struct set {
        struct entry entries[CHARGED_WAYS];
        unsigned next; /* the entry that is replaced next */
    } sets[CHARGED_SETS];
};

struct charged *charged_new(void)
{
    return NEW(struct charged);
}

void charged_free(struct charged *charged)
{
    free(charged);
}

static size_t set_of(const struct hash *transaction)
{
    return be32_get(transaction->bytes) % CHARGED_SETS;
}

/* The index of the transaction's entry; CHARGED_WAYS: it has none. */
static unsigned find(const struct set *set, const struct hash *transaction)
{
    unsigned i = 0;
    while (i < CHARGED_WAYS &&
           (set->entries[i].fee_stroops == 0 || !hash_equal(&set->entries[i].transaction, transaction)))
        i++;
    return i;
}

int64_t charged_missing(const struct charged *charged, const struct hash *transaction, int64_t fee_stroops)
{
    const struct set *set = &charged->sets[set_of(transaction)];
    const unsigned at = find(set, transaction);
    const int64_t before = at < CHARGED_WAYS ? set->entries[at].fee_stroops : 0;
    return fee_stroops > before ? fee_stroops - before : 0;
}

void charged_note(struct charged *charged, const struct hash *transaction, int64_t fee_stroops)
{
    struct set *set = &charged->sets[set_of(transaction)];
    unsigned at = find(set, transaction);
    if (at == CHARGED_WAYS) {
        at = set->next;
        set->next = (set->next + 1) % CHARGED_WAYS;
        set->entries[at] = (struct entry){.transaction = *transaction};
    }
    if (fee_stroops > set->entries[at].fee_stroops)
        set->entries[at].fee_stroops = fee_stroops;
}
