/*
 * Counters, gauges and histograms of this process, for GET /metrics. All are in one table, so each series is
 * there, with 0, before its first event. A label has a bounded list of values; no free text becomes one.
 * Counting takes one or two relaxed atomic additions and no lock. Functions may be called from any thread.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* The most values that each label may have. Of those to which values are added, the first one is for all that
 * do not fit. */
enum {
    METRIC_MAX_NONE = 1,
    METRIC_MAX_ROUTE = 20,
    METRIC_MAX_CLIENT = 18, /* 16 with names of their own */
    METRIC_MAX_CODE = ERR_COUNT,
    METRIC_MAX_LISTENER = 2,
    METRIC_MAX_KIND = 2,
    METRIC_MAX_END = 5,
    METRIC_MAX_RPC = 8, /* RPC_ADDRESSES_MAX */
    METRIC_MAX_METHOD = 9,
    METRIC_MAX_RESULT = 4,
};
enum metric_label {
    METRIC_NONE,
    METRIC_ROUTE,
    METRIC_CLIENT,
    METRIC_CODE,
    METRIC_LISTENER,
    METRIC_KIND,
    METRIC_END,
    METRIC_RPC,
    METRIC_METHOD,
    METRIC_RESULT,
    METRIC_LABELS
};
/* Values that are always there. */
enum {
    METRIC_OTHER = 0,     /* of METRIC_ROUTE, METRIC_CLIENT and METRIC_METHOD */
    METRIC_NO_CLIENT = 1, /* of METRIC_CLIENT: the request was not authenticated, or need not be */
    METRIC_API = 0,       /* of METRIC_LISTENER */
    METRIC_ADMIN,
    METRIC_LEASE = 0, /* of METRIC_KIND: as enum ticket_kind */
    METRIC_FEE_BUMP,
    METRIC_CONFIRMED = 0, /* of METRIC_END */
    METRIC_FAILED,
    METRIC_EXPIRED,
    METRIC_SUPERSEDED,
    METRIC_CONSUMED,
    METRIC_CALL_OK = 0, /* of METRIC_RESULT */
    METRIC_CALL_ERROR,
    METRIC_CALL_FAILED,
    METRIC_CALL_CANCELLED,
};

/* id, type, name, three labels, help. SECONDS is a histogram that is observed in microseconds, SIZES one of
 * numbers of items. */
#define METRIC_TABLE(X)                                                                                      \
    X(REQUESTS, COUNTER, "fairway_http_requests_total", ROUTE, CODE, NONE,                                   \
        "HTTP requests by the code of their problem; OK: without one. The route other: of no route.")        \
    X(CLIENT_REQUESTS, COUNTER, "fairway_client_requests_total", CLIENT, CODE, NONE,                         \
        "The same requests by client; none: not authenticated, or no token is needed; other: a client "      \
        "after the first 16.")                                                                               \
    X(REQUEST_SECONDS, SECONDS, "fairway_http_request_duration_seconds", ROUTE, NONE, NONE,                  \
        "From a request's first line to the end of its reply, with what it waits for by ?wait=.")            \
    X(CONNECTIONS, GAUGE, "fairway_http_connections", LISTENER, NONE, NONE, "Open connections.")             \
    X(CONNECTIONS_MAX, GAUGE, "fairway_http_connections_max", LISTENER, NONE, NONE,                          \
        "The limit of open connections: MAX_CONNECTIONS for the API.")                                       \
    X(LEASES_GRANTED, COUNTER, "fairway_leases_granted_total", NONE, NONE, NONE,                             \
        "New leases that this replica has granted; repeats are not counted.")                                \
    X(FEE_BUMPS, COUNTER, "fairway_fee_bumps_total", NONE, NONE, NONE,                                       \
        "Fee bumps that this replica has signed and recorded, with repeats and the bids of submissions.")    \
    X(SUBMISSIONS, COUNTER, "fairway_submissions_accepted_total", NONE, NONE, NONE,                          \
        "Leases that this replica has taken on to send; repeats are not counted.")                           \
    X(LEASE_WAIT, SECONDS, "fairway_lease_wait_seconds", NONE, NONE, NONE,                                   \
        "From the queue to a new lease, or to CHANNEL_ACCOUNT_UNAVAILABLE.")                                 \
    X(BATCH_SIZE, SIZES, "fairway_batch_size", KIND, NONE, NONE,                                             \
        "Requests that one database transaction decides.")                                                   \
    X(KEYD_SECONDS, SECONDS, "fairway_keyd_round_trip_seconds", KIND, NONE, NONE,                            \
        "From a message to the key process to its answer; one for each batch.")                              \
    X(KEYD_BUDGET, GAUGE, "fairway_keyd_fee_budget_stroops", NONE, NONE, NONE,                               \
        "KEYD_MAX_FEES_PER_HOUR: the most that the budget of fees holds.")                                   \
    X(KEYD_BUDGET_LEFT, GAUGE, "fairway_keyd_fee_budget_left_stroops", NONE, NONE, NONE,                     \
        "What this replica's key process may still sign fee bumps for; it fills evenly. A twelfth at "       \
        "start.")                                                                                            \
    X(ENDS, COUNTER, "fairway_leases_ended_total", END, NONE, NONE,                                          \
        "Leases that ledgers have ended which this replica has committed.")                                  \
    X(LEDGER_DELAY, SECONDS, "fairway_ledger_commit_delay_seconds", NONE, NONE, NONE,                        \
        "From the close time of a ledger to its commit, in whole seconds of the database's clock.")          \
    X(LEDGER_ANSWER, SECONDS, "fairway_ledger_answer_seconds", NONE, NONE, NONE,                             \
        "From the RPC's answer with a ledger to its commit, when waiting requests are told.")                \
    X(LEADS, GAUGE, "fairway_ingestion_leader", NONE, NONE, NONE,                                            \
        "1: this replica commits the ledgers; the sum over replicas is 1.")                                  \
    X(LEAD_TAKEN, COUNTER, "fairway_ingestion_lead_taken_total", NONE, NONE, NONE,                           \
        "How often this replica has taken the lead.")                                                        \
    X(RPC_CALLS, COUNTER, "fairway_rpc_calls_total", RPC, METHOD, RESULT,                                    \
        "Calls of Stellar RPC; rpc: the place in RPC_URL. error: an error of JSON-RPC, also that a ledger "  \
        "has not closed yet; failed: no answer, or none that can be used.")                                  \
    X(RPC_SECONDS, SECONDS, "fairway_rpc_call_duration_seconds", RPC, METHOD, NONE,                          \
        "Duration of these calls.")                                                                          \
    X(RPC_LEDGER, GAUGE, "fairway_rpc_ledger", RPC, NONE, NONE,                                              \
        "Latest ledger of this RPC, as it last said; 0: it has not.")                                        \
    X(RPC_REFUTED, COUNTER, "fairway_rpc_ledgers_refuted_total", RPC, NONE, NONE,                            \
        "Ledgers of this RPC that are not the network's, as another RPC's show: it changes ledgers.")        \
    X(RPC_LEFT_OUT, COUNTER, "fairway_rpc_left_out_total", RPC, NONE, NONE,                                  \
        "How often this RPC was not waited for any more: it hung, failed, was late, or served what is not "  \
        "the network's.")

enum metric {
#define X(id, type, name, a, b, c, help) METRIC_##id,
    METRIC_TABLE(X)
#undef X
    METRIC_COUNT
};

/* Returns the number of a label's value; adds the value unless it is there. value is 1 or more characters
 * without quotes, backslashes and line ends, and is copied. When no more fit: METRIC_OTHER. Values of
 * METRIC_RPC, "1" and so on, are added in their order. */
unsigned metric_label_add(enum metric_label label, const char *value);
/* The same without adding: METRIC_OTHER when there is no such value. */
unsigned metric_label_find(enum metric_label label, const char *value);

/* a, b: numbers of values of the metric's labels, 0 for NONE. With three labels b is METRIC_PAIR. */
#define METRIC_PAIR(b, c, label) ((b)*METRIC_MAX_##label + (c))
void metric_add(enum metric metric, unsigned a, unsigned b, int64_t amount);
void metric_set(enum metric metric, unsigned a, int64_t value);
/* Of a histogram: a time in microseconds, or a size. */
void metric_observe(enum metric metric, unsigned a, unsigned b, int64_t value);
/* Of a histogram: how many observations fell under each bound, and above all; bounds: the bounds, one fewer.
 * Returns how many counts there are, at most METRIC_BUCKETS. */
#define METRIC_BUCKETS 16
size_t metric_buckets(enum metric metric, unsigned a, unsigned b, int64_t counts[METRIC_BUCKETS],
    int64_t bounds[METRIC_BUCKETS]);
/* The value; of a histogram the number of observations. */
int64_t metric_read(enum metric metric, unsigned a, unsigned b);

/* Writes all in Prometheus' text format, version 0.0.4. */
void metric_write(FILE *out);
/* Writes a gauge that is not in the table. */
void metric_gauge(FILE *out, const char *name, const char *help, int64_t value);
/* Begins a family that the caller writes: the lines HELP and TYPE. */
void metric_describe(FILE *out, const char *type, const char *name, const char *help);
