/*
 * Sends bytes to every address of RPC_URL, by the loop of rpc/loop.h: one that hangs delays no other. Any
 * thread sends. One thread, the reader, takes what has come of it.
 */
#pragma once

#include "answer.h"

/* A bid on its way to all addresses, and what they answered. */
struct sender_item {
    struct hash lease, bid;
    int64_t round_ledger;
    bool is_new; /* a client has just submitted it: it takes turns with all that is sent again */
    /* The sender's: */
    bool reached; /* an address has answered */
    enum answer answer;
    int64_t asked_stroops; /* with ANSWER_NO_ROOM: the least fee that an address asks for */
    struct rpc_sent sent;  /* with ANSWER_REJECTED: the one that says so */
};

struct sender;

/* arrived is called when there is something to take. It must not block. */
struct sender *sender_start(const char *rpc_url, void (*arrived)(void *context), void *context);
/* Copies what the caller has set. Never blocks. */
void sender_send(struct sender *sender, const struct sender_item *item, struct bytes envelope);
/* The reader: takes an item that all addresses have answered, or failed to. False: there is none. */
bool sender_take(struct sender *sender, struct sender_item *out);
/* The reader: how many that are not new wait or are being sent at the address that works and has the fewest;
 * SIZE_MAX: the last call of each has failed, and another replica may do better. */
size_t sender_waiting(struct sender *sender);
/* Drops what waits, cancels what is being sent, and frees the sender. */
void sender_stop(struct sender *sender);
