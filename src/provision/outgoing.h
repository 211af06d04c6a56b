/* The pending transactions of a run, and when each is sent again. */
#pragma once

#include "rpc/rpc.h"
#include "session.h"

#define OUTGOING_MAX 64

struct outgoing {
    struct outgoing_item {
        int64_t id;
        enum provisioning_kind kind;
        size_t accounts;
        bool bumped;    /* the source is an account of the pool */
        bool queued;    /* a node has said so */
        bool warned;    /* that one has refused it */
        int64_t due_ms; /* clock_ms() */
    } items[OUTGOING_MAX];
    size_t count;
    bool changed; /* transactions were stored or decided since they were read */
};

/* One that was stored. */
void outgoing_add(struct outgoing *outgoing, enum provisioning_kind kind, size_t accounts, bool bumped);

/* Reads them if they changed or one is due, and sends those that are due. A node that has one in its queue
 * gets it again for each ledger, because it drops it after four; one that has refused it, several times
 * within a ledger. The answer of the RPC decides nothing. ERR_*: nothing was sent. */
MUST_CHECK enum err outgoing_send(struct outgoing *outgoing, struct session *session, struct rpc *rpc,
    unsigned ledger_ms, struct detail *detail);
