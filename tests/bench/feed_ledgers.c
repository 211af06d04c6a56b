/*
 * feed_ledgers DATABASE_URL PASSPHRASE LEDGER_MS leased|bumped: the network of a benchmark. Until SIGTERM,
 * every LEDGER_MS it builds a ledger that includes every open lease except those of hold.sql (bumped: only
 * those with a fee bump, as a real network does), and commits it by the real ingestion code. After each
 * ledger it prints the CPU time in microseconds that it has spent on building ledgers, which is no part of
 * fairway.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/db.h"
#include "ingest/ingest.h"
#include "integration/support/ledger_builder.h"
#include "rpc/feed.h"

struct source {
    struct db *db;
    struct network_id network;
    int ledger_ms;
    bool bumped;
    int64_t due_ms;
    int64_t built_us; /* CPU time */
};

static int64_t cpu_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static const char sql_cursor[] = "SELECT c.hash, c.close_time FROM fairway.cursor c";
/* Leaves out the leases of hold.sql, which stay open: reading them would take time. The LIMITs leave one
 * plan, whatever the statistics say. */
static const char sql_open[] =
    "SELECT l.hash, l.account, l.sequence, l.envelope FROM fairway.channel_accounts a"
    " CROSS JOIN LATERAL (SELECT * FROM fairway.leases i"
    "   WHERE fairway.hour_key(i.granted_at, i.hash) = fairway.hour_key(a.locked_at, a.lease_hash)"
    "     AND i.hash = a.lease_hash AND i.granted_at = a.locked_at LIMIT 1) l"
    " WHERE a.lease_hash IS NOT NULL AND a.public_key > (SELECT h.up_to FROM public.bench_held h)"
    " AND (NOT $1 OR (SELECT b.fee FROM fairway.fee_bumps b WHERE b.granted_at = a.locked_at"
    "   AND b.lease_hash = a.lease_hash ORDER BY b.fee DESC LIMIT 1) IS NOT NULL)";

/* One plan for all ledgers: with a long history, making a plan takes longer. */
static const char sql_one_plan[] = "SET plan_cache_mode = force_generic_plan";

static void include_leases(const struct db_rows *open, struct built_ledger *ledger,
    struct built_transaction *transactions, struct built_account *accounts)
{
    for (size_t i = 0; i < db_count(open); i++) {
        memcpy(transactions[i].hash.bytes, db_bytea(open, i, 0).data, sizeof transactions[i].hash.bytes);
        transactions[i].envelope = db_bytea(open, i, 3);
        if (address_decode(db_text(open, i, 1), &accounts[i].key) != ERR_OK)
            abort();
        accounts[i].sequence = db_i64(open, i, 2);
    }
    ledger->transactions = transactions;
    ledger->accounts = accounts;
    ledger->transaction_count = ledger->account_count = db_count(open);
}

static enum err build(
    struct source *source, uint32_t sequence, struct rpc_ledgers *out, struct detail *detail)
{
    AUTO_ROWS cursor = NULL;
    AUTO_ROWS open = NULL;
    enum err e = db_query(source->db, DB_SQL0(sql_cursor), &cursor, detail);
    if (e == ERR_OK)
        e = db_query(source->db, DB_SQL(sql_open, DB_BOOL(source->bumped)), &open, detail);
    if (e != ERR_OK)
        return e;
    struct built_transaction *transactions AUTO_FREE = NEW_ARRAY(db_count(open), struct built_transaction);
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(db_count(open), struct built_account);
    struct built_ledger ledger = {.meta_version = 2, .sequence = sequence, .network = &source->network};
    int64_t last_close_time_s = db_i64(cursor, 0, 1), now_s = time(NULL);
    memcpy(ledger.previous_hash.bytes, db_bytea(cursor, 0, 0).data, sizeof ledger.previous_hash.bytes);
    ledger.close_time_s = (uint64_t)(now_s > last_close_time_s ? now_s : last_close_time_s);
    include_leases(open, &ledger, transactions, accounts);
    out->items = NEW(struct rpc_ledger);
    ledger_build(&ledger, &out->storage, &out->items[0].hash);
    out->items[0].sequence = sequence;
    out->items[0].meta = buf_bytes(&out->storage);
    out->count = 1;
    return ERR_OK;
}

static enum err next_ledger(
    void *context, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct source *source = context;
    out->latest_ledger = start - 1;
    if (clock_ms() < source->due_ms)
        return ERR_LEDGER_AHEAD;
    source->due_ms = clock_ms() + source->ledger_ms;
    out->latest_ledger = start;
    const int64_t begun_us = cpu_us();
    enum err e = build(source, start, out, detail);
    source->built_us += cpu_us() - begun_us;
    printf("%" PRId64 "\n", source->built_us);
    fflush(stdout);
    return e;
}

/* Reads of accounts fail, and ingestion and audit continue without them. */
static enum err no_accounts(void *source, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    (void)source, (void)keys, (void)count, (void)out, (void)ledger;
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "this feed has ledgers only");
}

static enum err no_frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    (void)source, (void)out, (void)ledger;
    return detail_set(detail, ERR_RPC_UNAVAILABLE, "this feed has ledgers only");
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: feed_ledgers DATABASE_URL PASSPHRASE LEDGER_MS leased|bumped\n");
        return 64;
    }
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    if (log_set_level("warn") != ERR_OK)
        return 70;
    struct source source = {
        .db = db_new(&(struct db_settings){.url = argv[1], .name = "feed_ledgers"}),
        .network = network_id_of(argv[2]),
        .ledger_ms = atoi(argv[3]),
        .bumped = strcmp(argv[4], "bumped") == 0,
    };
    const struct feed feed = {
        .ledgers = next_ledger, .accounts = no_accounts, .frozen = no_frozen, .source = &source};
    const struct ingest_settings settings = {.database_url = argv[1],
        .feed = &feed,
        .network = source.network,
        .poll_ms = 5,
        .ledger_ms = 5000,
        .retention_s = 30 * 86400}; /* longer than the history of a bench: none of it is dropped */
    struct ingest *ingest;
    struct detail detail = {0};
    AUTO_ROWS none = NULL;
    if (db_query(source.db, DB_SQL0(sql_one_plan), &none, &detail) != ERR_OK ||
        ingest_start(&settings, &ingest, &detail) != ERR_OK) {
        fprintf(stderr, "feed_ledgers: %s\n", detail.text);
        return 1;
    }
    int signal_number;
    sigwait(&stop, &signal_number);
    ingest_stop(ingest);
    db_free(source.db);
    return 0;
}
