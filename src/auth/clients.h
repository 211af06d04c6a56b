/* The clients and their keys, read once; a change makes a new table. */
#pragma once

#include "auth/auth.h"

#define CLIENTS_MAX 1000
#define CLIENTS_KEYS_MAX 16 /* of one client: more than one while it changes from one key to the next */

struct clients_client {
    char name[AUTH_NAME_SIZE];
    unsigned scopes; /* of enum auth_scope */
    struct limits limits;
};

struct clients_key {
    struct public_key key;
    size_t client;
};

struct clients {
    struct clients_client *list;
    size_t count;
    struct clients_key *keys; /* each key once */
    size_t key_count;
};

/*
 * Reads a comma-separated list of keys and a file's text (either may be NULL); the file is
 *     {"NAME": {"keys": ["G..."], "scopes": ["lease", "fee-bump", "status", "pool"], "limits": {...}}, ...}
 * where scopes may be absent: all. limits has those of limits/limits.h; each may be absent. {} is a file
 * without clients. ERR_CONFIG with what is wrong; the table is empty then.
 */
MUST_CHECK enum err clients_read(
    const char *public_keys, const struct bytes *file, struct clients *out, struct detail *detail);
void clients_wipe(struct clients *clients);
/* NULL: no client has this key. */
const struct clients_client *clients_find(const struct clients *clients, const struct public_key *key);
