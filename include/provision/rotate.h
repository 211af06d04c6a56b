/*
 * Seals all seeds again under another master key, while the pool serves. The key process opens each seed and
 * seals it under its current key; the new sealed seed has opened and signed before it is stored. The old ones
 * are kept until all are replaced. The database role must own the tables: no other may change a seed.
 */
#pragma once

#include "keys/keyd.h"

struct rotate_settings {
    const char *database_url;
    struct network_id network;
    struct keyd *keyd;                 /* KEYD_ROTATE */
    const struct master_key_row *keys; /* those that it has */
    size_t key_count;
    const struct master_key_row *current; /* of them; its row is stored when the lock is taken */
    unsigned timeout_s;                   /* how long the database may be unavailable */
    unsigned poll_ms;
};

struct rotate_result {
    int64_t accounts; /* of the database, retired ones too */
    size_t broken;    /* whose sealed seeds do not open, and are unchanged; each is logged */
    bool had_ended;   /* the database needed no other key before, so nothing was done */
};

/*
 * Blocks until no sealed seed needs another master key; then forgets the old sealed seeds, and those keys.
 * With broken ones both are kept. Excludes other processes that store seeds, and waits while one changes the
 * pool's size. May be called again after any error or crash, and does the rest. ERR_DATABASE_UNAVAILABLE,
 * ERR_NOT_YET: for longer than timeout_s. ERR_CONFIG: the database has a master key that is not among keys.
 */
MUST_CHECK enum err rotate_all(
    const struct rotate_settings *settings, struct rotate_result *out, struct detail *detail);
