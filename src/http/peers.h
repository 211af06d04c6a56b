/*
 * How many connections each client address has, for the limit that an address has. IPv6 addresses are counted
 * by their /64, which is what one host or site is given. Not thread-safe.
 */
#ifndef FAIRWAY_HTTP_PEERS_H
#define FAIRWAY_HTTP_PEERS_H

#include <stdbool.h>
#include <sys/socket.h>

struct peers;
struct peer;

/* limit: connections of one address; 0: any number, and nothing is counted. */
struct peers *peers_new(unsigned limit, unsigned max_connections);
void peers_free(struct peers *peers);

/* Returns false when the address has reached the limit. *peer, NULL when nothing is counted, is for
 * peers_leave. */
bool peers_enter(struct peers *peers, const struct sockaddr *address, struct peer **peer);
void peers_leave(struct peers *peers, struct peer *peer);

#endif
