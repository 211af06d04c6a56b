/* Starts and stops the threads of ingestion, which run in every replica. */
#include "ingest/ingest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/deadlines.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/thread.h"
#include "rpc/rpcs.h"
#include "upkeep/audit.h"
#include "ingester.h"
#include "upkeep/janitor.h"
#include "retry.h"

struct ingest {
    /* Each thread needs its own; of a test's feed, the first one alone. */
    struct rpcs *rpcs, *funds_rpcs, *audit_rpcs;
    struct ingester ingester;
    struct funds_watch funds;
    struct janitor *janitor;
    struct audit *audit;
    struct status status;
    struct retry retry;
    struct stop stop;
    struct ingest_check check; /* before the first step */
    atomic_bool checked, leads;
    pthread_t thread;
};

static void note_result(struct ingest *ingest, enum err e, const struct detail *detail)
{
    const enum retry_class class = retry_class(e);
    if (class != RETRY_FINE)
        status_failed(&ingest->status, e, class == RETRY_STOPPED, detail);
    else if (e != ERR_OK) /* which is noted with each commit */
        status_idle(&ingest->status, e, detail);
}

/* Until the check has passed, nothing is read from the RPC, and the lead is left to others. */
static enum err step(struct ingest *ingest, struct detail *detail)
{
    if (!atomic_load(&ingest->checked)) {
        enum err e = ingest->check.run(ingest->check.context, detail);
        if (e != ERR_OK)
            return e;
        atomic_store(&ingest->checked, true);
    }
    return ingester_step(&ingest->ingester, detail);
}

static void *run(void *context)
{
    struct ingest *ingest = context;
    struct lead *lead = &ingest->ingester.lead;
    unsigned pause_ms = 0;
    while (stop_wait(&ingest->stop, pause_ms)) {
        struct detail detail = {0};
        enum err e = step(ingest, &detail);
        note_result(ingest, e, &detail);
        pause_ms = retry_pause_ms(&ingest->retry, e);
        if (e == ERR_OK || e == ERR_LEDGER_AHEAD)
            pause_ms = ingester_pause_ms(&ingest->ingester, e, ingest->retry.poll_ms);
        if (lead->leads && !retry_keeps_lead(e, db_is_open(lead->db)))
            lead_drop(lead);
        metric_set(METRIC_LEADS, 0, lead->leads);
        atomic_store(&ingest->leads, lead->leads);
    }
    return NULL;
}

static void ingest_free(struct ingest *ingest)
{
    lead_free(&ingest->ingester.lead);
    follow_close(&ingest->ingester.follow);
    rpcs_stop(ingest->rpcs);
    rpcs_stop(ingest->funds_rpcs);
    rpcs_stop(ingest->audit_rpcs);
    status_wipe(&ingest->status);
    stop_close(&ingest->stop);
    free(ingest);
}

static void start_threads(struct ingest *ingest, const struct ingest_settings *settings)
{
    const struct feed funds = rpcs_feed(ingest->funds_rpcs != NULL ? ingest->funds_rpcs : ingest->rpcs);
    ingest->janitor = janitor_start(&(struct janitor_settings){.database_url = settings->database_url,
        .retention_s = settings->retention_s,
        .leads = &ingest->leads,
        .stop = &ingest->stop});
    ingest->ingester.audit = ingest->audit =
        audit_start(&(struct audit_settings){.database_url = settings->database_url,
            .feed = rpcs_feed(ingest->audit_rpcs != NULL ? ingest->audit_rpcs : ingest->rpcs),
            .every_ms = trust_is_on(&ingest->ingester.follow.trust) ? 0 : AUDIT_EVERY_MS,
            .return_ms = AUDIT_RETURN_MS,
            .leads = &ingest->leads,
            .stop = &ingest->stop});
    funds_watch_start(&ingest->funds, &funds, &settings->funds);
    thread_start(&ingest->thread, "ingest", run, ingest);
}

static void start_rpcs(struct ingest *ingest, const struct ingest_settings *settings)
{
    const struct rpcs_settings rpcs = {.url = settings->rpc_url, .ledger_ms = (int)settings->ledger_ms};
    if (settings->feed != NULL) {
        ingest->rpcs = rpcs_start_feeds(settings->feed, 1, &rpcs);
        return;
    }
    ingest->rpcs = rpcs_start(&rpcs);
    ingest->funds_rpcs = rpcs_start(&rpcs);
    ingest->audit_rpcs = rpcs_start(&rpcs);
}

static struct lead make_lead(const struct ingest_settings *settings)
{
    return (struct lead){
        .db = db_new(&(struct db_settings){.url = settings->database_url, .name = "fairway ingest"}),
        .network = settings->network,
        .locks = lock_numbers_of(&settings->network),
        .synchronous = settings->synchronous_failover,
        .ledger_ms = settings->ledger_ms,
        .listener = settings->listener};
}

enum err ingest_start(const struct ingest_settings *settings, struct ingest **out, struct detail *detail)
{
    struct ingest *ingest = NEW(struct ingest);
    struct follow *follow = &ingest->ingester.follow;
    struct trust trust;
    enum err e = trust_open(settings->trusted_validators, &settings->network, &trust, detail);
    if (e == ERR_OK)
        e = stop_open(&ingest->stop, detail);
    if (e != ERR_OK) {
        trust_free(&trust);
        free(ingest);
        return e;
    }
    status_init(&ingest->status, settings->ledger_ms);
    ingest->retry = (struct retry){.poll_ms = settings->poll_ms};
    ingest->check = settings->check;
    ingest->checked = settings->check.run == NULL;
    const int64_t two_ms = 2 * (int64_t)settings->ledger_ms,
                  stale_ms = settings->stale_ms != 0
                                 ? settings->stale_ms
                                 : (int64_t)settings->ledger_ms + (int64_t)INGEST_STALE_SLACK_S * 1000;
    ingest->ingester = (struct ingester){.lead = make_lead(settings),
        .watch = {.look_ms = two_ms < stale_ms ? two_ms : stale_ms, .stale_ms = stale_ms},
        .funds = &ingest->funds,
        .status = &ingest->status,
        .seen_ledger = settings->seen_ledger};
    start_rpcs(ingest, settings);
    *follow = (struct follow){
        .rpcs = ingest->rpcs, .trust = trust, .network = settings->network, .ledger_ms = settings->ledger_ms};
    start_threads(ingest, settings);
    *out = ingest;
    return ERR_OK;
}

void ingest_stop(struct ingest *ingest)
{
    if (ingest == NULL)
        return;
    stop_tell(&ingest->stop);
    rpcs_cancel(ingest->rpcs);
    rpcs_cancel(ingest->funds_rpcs);
    rpcs_cancel(ingest->audit_rpcs);
    pthread_join(ingest->thread, NULL);
    funds_watch_stop(&ingest->funds);
    janitor_join(ingest->janitor);
    audit_join(ingest->audit);
    ingest_free(ingest);
}

bool ingest_ready(void *context, struct detail *why)
{
    struct ingest *ingest = context;
    return status_ready(&ingest->status, why);
}

bool ingest_checked(void *context)
{
    struct ingest *ingest = context;
    return atomic_load(&ingest->checked);
}
