/* Counts connections of each address. It closes none. */
#include "peers.h"

#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/invariant.h"
#include "base/mem.h"

struct key {
    uint64_t network; /* an IPv4 address, or the first half of an IPv6 address */
    sa_family_t family;
};

struct peer {
    struct peer *next; /* of its bucket */
    struct key key;
    unsigned count;
};

struct peers {
    unsigned limit, bits;
    uint64_t factor; /* random and odd, so that no client can choose addresses that share a bucket */
    struct peer **buckets;
};

struct peers *peers_new(unsigned limit, unsigned max_connections)
{
    struct peers *peers = NEW(struct peers);
    peers->limit = limit;
    if (limit == 0)
        return peers;
    for (peers->bits = 4; 1u << peers->bits < max_connections; peers->bits++)
        ;
    peers->buckets = NEW_ARRAY((size_t)1 << peers->bits, struct peer *);
    if (getentropy(&peers->factor, sizeof peers->factor) != 0)
        peers->factor = (uintptr_t)peers;
    peers->factor |= 1;
    return peers;
}

void peers_free(struct peers *peers)
{
    free(peers->buckets);
    free(peers);
}

static struct key key_of(const struct sockaddr *address)
{
    struct key key = {.family = address->sa_family};
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    const uint8_t *bytes = six->sin6_addr.s6_addr;
    if (key.family == AF_INET) {
        key.network = four->sin_addr.s_addr;
    } else if (key.family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
        /* An IPv4 client on a socket for both families. */
        uint32_t mapped;
        memcpy(&mapped, bytes + 12, sizeof mapped);
        key = (struct key){.network = mapped, .family = AF_INET};
    } else if (key.family == AF_INET6) {
        memcpy(&key.network, bytes, sizeof key.network);
    }
    return key;
}

/* Returns the link that points to the key's record, or the one at the bucket's end, which is NULL. */
static struct peer **find(struct peers *peers, const struct key *key)
{
    struct peer **at = &peers->buckets[key->network * peers->factor >> (64 - peers->bits)];
    while (*at != NULL && ((*at)->key.network != key->network || (*at)->key.family != key->family))
        at = &(*at)->next;
    return at;
}

bool peers_enter(struct peers *peers, const struct sockaddr *address, struct peer **peer)
{
    *peer = NULL;
    if (peers->limit == 0)
        return true;
    struct key key = key_of(address);
    struct peer **at = find(peers, &key);
    if (*at != NULL && (*at)->count >= peers->limit)
        return false;
    if (*at == NULL) {
        *at = NEW(struct peer);
        (*at)->key = key;
    }
    *peer = *at;
    (*peer)->count++;
    return true;
}

void peers_leave(struct peers *peers, struct peer *peer)
{
    if (peer == NULL)
        return;
    INVARIANT(peer->count > 0);
    if (--peer->count > 0)
        return;
    struct peer **at = find(peers, &peer->key);
    INVARIANT(*at == peer);
    *at = peer->next;
    free(peer);
}
