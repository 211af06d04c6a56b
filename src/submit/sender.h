/*
 * Sends bytes to every address of RPC_URL. Each address has a queue and threads of its own, so that one that
 * hangs delays no other.
 */
#ifndef FAIRWAY_SUBMIT_SENDER_H
#define FAIRWAY_SUBMIT_SENDER_H

#include "answer.h"

/* A bid on its way to all addresses, and what they answered. */
struct sender_item {
    struct hash lease, bid;
    int64_t round_ledger;
    struct bytes envelope;
    bool overtakes; /* a client has just submitted it: it goes before all that waits */
    /* The sender's: */
    int64_t queued_ms;
    unsigned open; /* addresses that have not answered yet */
    enum answer answer;
    struct rpc_sent sent; /* with ANSWER_REJECTED: the one that says so */
};

struct sender;

/* answered is called when all addresses have answered or failed, by the thread of the last one. */
struct sender *sender_start(
    const char *rpc_url, void (*answered)(void *context, const struct sender_item *sending), void *context);
/* Copies what the caller has set. Never blocks. An address whose queue is full is left out: the bytes are due
 * again after the next ledger. */
void sender_send(struct sender *sender, const struct sender_item *sending);
/* How many wait in the shortest queue of an address that works; SIZE_MAX: the last call of each has failed,
 * and another replica may do better. */
size_t sender_waiting(struct sender *sender);
/* Drops what waits, cancels what is being sent, ends the threads, and frees the sender. */
void sender_stop(struct sender *sender);

#endif
