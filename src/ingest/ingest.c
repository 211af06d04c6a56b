/* Starts and stops the threads of ingestion, which run in every replica. */
#include "ingest/ingest.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "base/thread.h"
#include "ingester.h"
#include "janitor.h"
#include "retry.h"
#include "witness.h"

struct ingest {
    struct rpc *rpc; /* NULL: the feed is a test's, or RPC_URL has several addresses, each with an RPC in: */
    struct rpc *rpcs[RPC_ADDRESSES_MAX], *checks[RPC_ADDRESSES_MAX]; /* of witness */
    struct rpc
        *funds_rpcs[RPC_ADDRESSES_MAX]; /* of funds, whose thread needs its own: one for each address */
    size_t funds_count;
    struct witness witness;
    struct ingester ingester;
    struct funds_watch funds;
    struct janitor *janitor;
    struct status status;
    struct retry retry;
    struct stop stop;
    pthread_t thread;
};

static void note_result(struct ingest *ingest, enum err e, const struct detail *detail)
{
    switch (retry_class(e)) {
    case RETRY_DONE: /* noted with each commit */
    case RETRY_CANCELLED:
        return;
    case RETRY_IDLE:
        status_ok(&ingest->status);
        return;
    case RETRY_UNAVAILABLE:
        status_failed(&ingest->status, e, false, detail);
        return;
    case RETRY_STOPPED:
        status_failed(&ingest->status, e, true, detail);
        return;
    }
}

static void *run(void *context)
{
    struct ingest *ingest = context;
    struct lead *lead = &ingest->ingester.lead;
    unsigned pause_ms = 0;
    while (stop_wait(&ingest->stop, pause_ms)) {
        struct detail detail = {0};
        enum err e = ingester_step(&ingest->ingester, &detail);
        note_result(ingest, e, &detail);
        pause_ms = retry_pause_ms(&ingest->retry, e);
        if (lead->leads && !retry_keeps_lead(&ingest->retry, e))
            lead_drop(lead);
        janitor_lead(ingest->janitor, lead->leads);
    }
    return NULL;
}

static void ingest_free(struct ingest *ingest)
{
    db_free(ingest->ingester.lead.db);
    settle_notes_free(&ingest->ingester.lead.unsure);
    rpc_free(ingest->rpc);
    for (size_t i = 0; i < ingest->witness.count; i++) {
        rpc_free(ingest->rpcs[i]);
        rpc_free(ingest->checks[i]);
    }
    for (size_t i = 0; i < ingest->funds_count; i++)
        rpc_free(ingest->funds_rpcs[i]);
    status_wipe(&ingest->status);
    stop_close(&ingest->stop);
    free(ingest);
}

static void start_threads(struct ingest *ingest, const struct ingest_settings *settings)
{
    const struct janitor_settings janitor = {
        .database_url = settings->database_url, .retention_s = settings->retention_s, .stop = &ingest->stop};
    struct feed feeds[RPC_ADDRESSES_MAX] = {ingest->ingester.feed};
    for (size_t i = 0; i < ingest->funds_count; i++)
        feeds[i] = feed_of_rpc(ingest->funds_rpcs[i]);
    ingest->janitor = janitor_start(&janitor);
    funds_watch_start(
        &ingest->funds, feeds, ingest->funds_count > 0 ? ingest->funds_count : 1, &settings->funds);
    thread_start(&ingest->thread, run, ingest);
}

static void add_rpc(struct ingest *ingest, struct rpc_settings settings)
{
    struct witness *witness = &ingest->witness;
    const size_t i = witness->count++;
    settings.only = (unsigned)i + 1;
    ingest->rpcs[i] = rpc_new(&settings);
    settings.timeout_ms = WITNESS_TIMEOUT_MS;
    ingest->checks[i] = rpc_new(&settings);
    witness->rpcs[i] =
        (struct witness_rpc){.feed = feed_of_rpc(ingest->rpcs[i]), .check = feed_of_rpc(ingest->checks[i])};
}

static void add_funds_rpc(struct ingest *ingest, struct rpc_settings settings)
{
    settings.only = (unsigned)ingest->funds_count + 1;
    ingest->funds_rpcs[ingest->funds_count++] = rpc_new(&settings);
}

/* What ingestion reads from, and what it confirms changes with. */
static void set_feeds(struct ingest *ingest, const struct ingest_settings *settings)
{
    struct feed *feed = &ingest->ingester.feed, *confirm = &ingest->ingester.confirm.feed;
    if (settings->feed != NULL) {
        *feed = *confirm = *settings->feed;
        return;
    }
    const struct rpc_settings rpc = {.url = settings->rpc_url, .cancel_fd = ingest->stop.fd};
    const size_t named = rpc_address_count(rpc.url),
                 addresses = named < RPC_ADDRESSES_MAX ? named : RPC_ADDRESSES_MAX;
    ingest->witness = witness_init();
    for (size_t i = 0; i < addresses; i++)
        add_funds_rpc(ingest, rpc);
    for (size_t i = 0; i < addresses && addresses > 1; i++)
        add_rpc(ingest, rpc);
    if (addresses > 1) {
        *feed = witness_feed(&ingest->witness);
        *confirm = witness_confirm_feed(&ingest->witness);
    } else {
        ingest->rpc = rpc_new(&rpc);
        *feed = *confirm = feed_of_rpc(ingest->rpc);
    }
}

static struct lead make_lead(const struct ingest_settings *settings)
{
    return (struct lead){
        .db = db_new(&(struct db_settings){.url = settings->database_url, .name = "fairway ingest"}),
        .network = settings->network,
        .locks = lock_numbers_of(&settings->network),
        .synchronous = settings->synchronous_failover,
        .ledger_seconds = settings->ledger_seconds};
}

enum err ingest_start(const struct ingest_settings *settings, struct ingest **out, struct detail *detail)
{
    struct ingest *ingest = NEW(struct ingest);
    enum err e = stop_open(&ingest->stop, detail);
    if (e != ERR_OK) {
        free(ingest);
        return e;
    }
    status_init(&ingest->status, settings->ledger_seconds);
    ingest->retry = (struct retry){.poll_ms = settings->poll_ms};
    const int64_t stale_ms = (int64_t)(settings->ledger_seconds + INGEST_STALE_SLACK_S) * 1000;
    ingest->ingester = (struct ingester){
        .confirm = {.outage = {.limit_ms = CONFIRM_GIVE_UP_MS}, .reread_every_ms = CONFIRM_REREAD_MS},
        .lead = make_lead(settings),
        .watch = {.stale_ms = settings->stale_ms != 0 ? settings->stale_ms : stale_ms},
        .funds = &ingest->funds,
        .status = &ingest->status,
        .log = {.synchronous = settings->synchronous_failover},
        .fetch_limit = INGESTER_FETCH_MAX};
    set_feeds(ingest, settings);
    if (ingest->funds_count > 1)
        ingest->ingester.confirm.funds = &ingest->funds.limits;
    start_threads(ingest, settings);
    *out = ingest;
    return ERR_OK;
}

void ingest_stop(struct ingest *ingest)
{
    if (ingest == NULL)
        return;
    stop_tell(&ingest->stop);
    pthread_join(ingest->thread, NULL);
    funds_watch_stop(&ingest->funds);
    janitor_join(ingest->janitor);
    ingest_free(ingest);
}

bool ingest_ready(struct ingest *ingest, struct detail *why)
{
    return status_ready(&ingest->status, why);
}
