/*
 * What a client would be told now, and why. /readyz, /v1/pool, /metrics, the status and `fairway check` read
 * it here and judge nothing themselves. What clients have just experienced counts before what a check
 * expects: batches that fail say no although every check passes, and batches that succeed make a failing
 * check a warning.
 */
#pragma once

#include "api/api.h"
#include "base/json_write.h"
#include "pool/oldest_snapshot.h"
#include "pool/pool_counts.h"
#include "api/recent_speed.h"

/* id, name in replies and in the label of fairway_check. */
#define RPC_BEHIND_LEDGERS 3 /* an RPC that is further from the network's ledger is sick */

#define CHECKS(X)                                                                                            \
    X(DATABASE, "database")   /* it answers */                                                               \
    X(KEYS, "keys")           /* the key process runs, with the master keys that the seeds need */           \
    X(INGESTION, "ingestion") /* of this replica */                                                          \
    X(LEDGERS, "ledgers")     /* the last one is of now */                                                   \
    X(GRANTS, "grants")       /* no hold, gap or pause */                                                    \
    X(ACCOUNTS, "accounts")   /* any is active */                                                            \
    X(FUNDS, "funds")         /* the distribution account can pay, and fairway can sign for it */            \
    X(DISK, "disk")           /* of the database */                                                          \
    X(STANDBY, "standby")     /* where commits wait for one */                                               \
    X(CLOCK, "clock")         /* this host's, by which tokens are judged */                                  \
    X(CLIENTS, "clients")     /* the file of them could be read again */                                     \
    X(LEASES, "leases")       /* the last batches */                                                         \
    X(BIDS, "bids")           /* the same of fee bumps and submissions */                                    \
    X(BUDGET, "budget")       /* of the key process */                                                       \
    X(RPCS, "rpcs")           /* each address of RPC_URL */                                                  \
    X(SNAPSHOT, "snapshot")   /* none is old */                                                              \
    X(PROTOCOL, "protocol")   /* this version knows the network's */

enum judge_check {
#define X(id, name) CHECK_##id,
    CHECKS(X)
#undef X
    CHECK_COUNT
};
extern const char *const check_names[CHECK_COUNT];

enum judge_level {
    CHECK_PASSES,
    CHECK_WARNS,
    CHECK_FAILS /* the replica is not ready */
};

struct judge_result {
    bool ran;
    enum judge_level level;
    const char *text;     /* a constant, which anyone may read; "" when it passes */
    struct detail detail; /* for operators; may be empty */
};

struct judge_report {
    struct judge_result checks[CHECK_COUNT];
    enum err refusal; /* with which every request for a lease is refused; ERR_OK: with none */
    struct detail why;
    struct pool_counts pool; /* when CHECK_DATABASE does not fail */
    struct oldest_snapshot snapshot;
    struct speed speed;
};

/* counted: with the accounts, as pool_counts_read. db NULL: it does not answer in time. */
void judge(struct db *db, const struct api_settings *settings, bool counted, struct judge_report *out);

/* Whether no check fails. */
bool judge_ready(const struct judge_report *judgement);

/* The check of what the distribution account can pay. */
struct judge_result judge_funds(const struct funds *funds, const struct funds_limits *limits);

/* A later read of the same reply failed. */
void judge_database_lost(struct judge_report *judgement, const struct detail *why);

/* What operators read of a check that does not pass: its detail, or else its text. */
const char *judge_shown(const struct judge_result *result);

/* The member "accounts": how many in each state. */
void api_write_accounts(struct json_write *out, const struct pool_counts *pool);

/* The last ledger that ingestion has seen committed; 0: not known. */
uint32_t judge_seen_ledger(const struct api_settings *settings);

/* ERR_GRANTS_SUSPENDED: this replica does not know yet whether its RPC is of the network. */
MUST_CHECK enum err judge_network(const struct api_settings *settings, struct detail *detail);
