#include "ingest/ingest.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "backoff.h"
#include "feed.h"
#include "funds_watch.h"
#include "janitor.h"
#include "lead.h"
#include "gap.h"
#include "leader_watch.h"
#include "status.h"

/* Retry backoff limit while the RPC or the database is unavailable. Short: until the next try no lease ends,
 * and grants may be suspended because the cursor is behind. */
#define RETRY_MAX_MS 1000
/* A leader whose RPC has failed for so many polls lets another replica try: it may have a better one. */
#define GIVE_UP_POLLS 15
/* Between tries after an error that only a person can fix. */
#define STOPPED_POLLS 20
/* Longer than a step of a leader that is alive can take: an RPC request's timeout and a transaction's. A
 * shorter patience could have replicas pass each other over for ever. */
#define STALE_SLACK_S 30

struct ingest {
    struct feed feed;
    struct rpc *rpc, *funds_rpc; /* NULL: the feed is a test's */
    struct funds_watch funds;
    struct network_id network;
    struct lead lead;
    struct leader_watch standby;
    struct janitor *janitor;
    struct status status;
    unsigned poll_ms;
    struct backoff retry;
    int64_t failing_since_ms;      /* clock_ms(); 0: the last step succeeded */
    uint32_t tip;                  /* the network's last ledger, as far as is known */
    uint32_t at_once;              /* ledgers to ask for, at most */
    uint32_t gap_after;            /* the last gap that was noticed */
    bool saw_standby, has_standby; /* a synchronous standby is configured, as of the last commit */
    int stop_fd;                   /* readable from ingest_stop on */
    pthread_t thread;
};

static bool wait_or_stop(struct ingest *ingest, int ms)
{
    struct pollfd stop = {.fd = ingest->stop_fd, .events = POLLIN};
    int64_t deadline_ms = clock_ms() + ms;
    int ready;
    while ((ready = poll(&stop, 1, clock_left_ms(deadline_ms))) < 0 && errno == EINTR)
        ;
    return ready == 0;
}

static enum err fetch(
    struct ingest *ingest, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    enum err e = ingest->feed.ledgers(ingest->feed.source, start, limit, out, detail);
    if (e == ERR_OK || e == ERR_LEDGER_AHEAD || e == ERR_LEDGER_GAP)
        ingest->tip = out->latest_ledger;
    return e;
}

static enum err upgrade_needed(uint32_t ledger, struct detail *detail)
{
    return detail_set(detail, ERR_XDR_UNKNOWN_ARM,
        "ledger %u has what this fairway does not know: the network was upgraded, install a newer fairway",
        ledger);
}

/* The start logs how it is (cmd/fairway/starting.c); this logs changes. */
static void saw_standby(struct ingest *ingest, bool configured)
{
    if (ingest->lead.synchronous && ingest->saw_standby && configured != ingest->has_standby)
        log_line(configured ? LOG_INFO : LOG_WARN,
            configured
                ? "a synchronous standby is configured again"
                : "DATABASE_FAILOVER=synchronous, but no synchronous standby is configured any more: a "
                  "failover may lose leases",
            "synchronous_standby_names=%s", configured ? "set" : "empty");
    ingest->saw_standby = true;
    ingest->has_standby = configured;
}

static void saw_commit(struct ingest *ingest, const struct ledger_committed *committed)
{
    const struct cursor_snapshot sight = {true, ingest->lead.at.sequence, committed->lag_s};
    status_saw(&ingest->status, &sight);
    status_well(&ingest->status);
    funds_watch_saw(&ingest->funds, &committed->funds);
    saw_standby(ingest, committed->synchronous_standby);
    if (committed->hold_ended)
        log_info("the hold is over: leases are granted again", "ledger=%u", sight.sequence);
}

#define SETTLED_FORMAT                                                                                       \
    " confirmed=%zu failed=%zu superseded=%zu expired=%zu consumed=%zu created=%zu retired=%zu"              \
    " quarantined=%zu"
#define SETTLED_VALUES(settled)                                                                              \
    (settled)->confirmed, (settled)->failed, (settled)->superseded, (settled)->expired, (settled)->consumed, \
        (settled)->created, (settled)->retired, (settled)->quarantined

static enum err commit(struct ingest *ingest, const struct rpc_ledger *named, struct detail *detail)
{
    struct ledger_committed committed;
    struct account_snapshot distribution;
    bool first = !ingest->lead.at.known;
    ingest->lead.distribution = funds_watch_take(&ingest->funds, &distribution) ? &distribution : NULL;
    enum err e = lead_commit(&ingest->lead, named, &committed, detail);
    ingest->lead.distribution = NULL;
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(named->sequence, detail);
    if (e != ERR_OK)
        return e;
    saw_commit(ingest, &committed);
    const struct settled *settled = &committed.settled;
    bool quiet =
        !first && settled->released + settled->created + settled->retired + settled->quarantined == 0;
    log_line(quiet ? LOG_DEBUG : LOG_INFO, first ? "ingestion begins with this ledger" : "ledger committed",
        "ledger=%u lag_s=%lld" SETTLED_FORMAT, ingest->lead.at.sequence, (long long)committed.lag_s,
        SETTLED_VALUES(settled));
    return ERR_OK;
}

/* An empty database begins with the RPC's latest ledger, which the answer to an impossible number names. */
static enum err begin(struct ingest *ingest, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0}, none CLEANUP(rpc_ledgers_free) = {0};
    enum err e = fetch(ingest, UINT32_MAX, 1, &none, detail);
    if (e == ERR_OK)
        return detail_set(detail, ERR_RPC_REFUSED, "Stellar RPC claims to have ledger %u", UINT32_MAX);
    if (e != ERR_LEDGER_AHEAD)
        return e;
    e = fetch(ingest, none.latest_ledger, 1, &ledgers, detail);
    if (e == ERR_LEDGER_GAP) /* a network that has closed none yet, or a node that moved on meanwhile */
        return ERR_LEDGER_AHEAD;
    return e != ERR_OK ? e : commit(ingest, &ledgers.items[0], detail);
}

/* Ledgers that nobody keeps are no reason to stand still: what they did is read from the accounts. */
static enum err recover(struct ingest *ingest, uint32_t oldest, struct detail *detail)
{
    struct ledger_committed committed;
    const uint32_t last = ingest->lead.at.sequence;
    if (ingest->gap_after != last) /* once a gap, however often it is tried */
        log_warn("ledgers are lost: grants stop until the accounts are read",
            "after_ledger=%u oldest_ledger=%u", last, oldest);
    ingest->gap_after = last;
    enum err e = gap_recover(&ingest->lead, &ingest->feed, &ingest->network, &committed, detail);
    if (e == ERR_XDR_UNKNOWN_ARM)
        return upgrade_needed(ingest->lead.at.sequence + 1, detail);
    if (e != ERR_OK)
        return e;
    saw_commit(ingest, &committed);
    log_warn("lost ledgers are made up for", "after_ledger=%u ledger=%u" SETTLED_FORMAT, last,
        ingest->lead.at.sequence, SETTLED_VALUES(&committed.settled));
    return ERR_OK;
}

/* An RPC may have fewer ledgers to give at once, or in time, than we ask for. */
static void adapt(struct ingest *ingest, enum err e, uint32_t asked)
{
    if (e == ERR_OK && ingest->at_once < FEED_LIMIT_BEHIND)
        ingest->at_once++;
    else if (e == ERR_RPC_UNAVAILABLE || e == ERR_RPC_REFUSED)
        ingest->at_once = asked > 1 ? asked / 2 : 1;
}

static enum err advance(struct ingest *ingest, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    uint32_t due = ingest->lead.at.sequence + 1;
    uint32_t behind = ingest->tip > due ? ingest->tip - due : 0;
    uint32_t limit = behind < ingest->at_once ? behind + 1 : ingest->at_once;
    enum err e = fetch(ingest, due, limit, &ledgers, detail);
    adapt(ingest, e, limit);
    if (e == ERR_LEDGER_GAP)
        return recover(ingest, ledgers.oldest_ledger, detail);
    if (e == ERR_LEDGER_AHEAD && cursor_check_tip(&ingest->lead.at, ingest->tip, detail) != ERR_OK)
        return ERR_LEDGER_MISMATCH;
    for (size_t i = 0; e == ERR_OK && i < ledgers.count; i++)
        e = commit(ingest, &ledgers.items[i], detail);
    return e;
}

/* Another replica has the lock. Leads all the same when that one lets a ledger lie that is due. */
static enum err stand_by(struct ingest *ingest, const struct cursor_snapshot *sight, struct detail *detail)
{
    struct rpc_ledgers ledgers CLEANUP(rpc_ledgers_free) = {0};
    if (!leader_watch_saw(&ingest->standby, sight, clock_ms()))
        return ERR_NOT_LEADER;
    enum err due = fetch(ingest, sight->sequence + 1, 1, &ledgers, detail);
    if (!leader_watch_takes_over(&ingest->standby, due, clock_ms()))
        return ERR_NOT_LEADER;
    log_warn("the leader lets the cursor stand still: taking over", "cursor=%u", sight->sequence);
    return lead_take_over(&ingest->lead, detail);
}

static enum err lead_or_follow(struct ingest *ingest, struct detail *detail)
{
    enum err e = lead_take(&ingest->lead, detail);
    struct cursor_snapshot sight;
    if (e != ERR_OK && e != ERR_NOT_LEADER)
        return e;
    enum err seen = cursor_snapshot_read(ingest->lead.db, &sight, detail);
    if (seen != ERR_OK)
        return seen;
    status_saw(&ingest->status, &sight);
    if (e == ERR_NOT_LEADER)
        e = stand_by(ingest, &sight, detail);
    if (e == ERR_OK) {
        ingest->standby.since_ms = 0;
        log_info("this replica ingests", "after_ledger=%u term=%lld", ingest->lead.at.sequence,
            (long long)ingest->lead.term);
    }
    return e;
}

static enum err step(struct ingest *ingest, struct detail *detail)
{
    enum err e = ERR_OK;
    if (!ingest->lead.held)
        e = lead_or_follow(ingest, detail);
    if (e == ERR_OK)
        e = ingest->lead.at.known ? advance(ingest, detail) : begin(ingest, detail);
    return e;
}

static void reset_retries(struct ingest *ingest)
{
    backoff_reset(&ingest->retry);
    ingest->failing_since_ms = 0;
}

/* Something is unavailable. Answers the pause. */
static unsigned failed(struct ingest *ingest, enum err e, const struct detail *detail)
{
    status_failed(&ingest->status, e, false, detail);
    if (ingest->failing_since_ms == 0)
        ingest->failing_since_ms = clock_ms();
    return backoff_next(
        &ingest->retry, ingest->poll_ms, ingest->poll_ms > RETRY_MAX_MS ? ingest->poll_ms : RETRY_MAX_MS);
}

/* Milliseconds until the next step. */
static unsigned after(struct ingest *ingest, enum err e, const struct detail *detail)
{
    switch (e) {
    case ERR_OK:
        reset_retries(ingest);
        return 0;
    case ERR_LEDGER_AHEAD: /* the usual: the next ledger has not closed yet */
    case ERR_NOT_LEADER:
        reset_retries(ingest);
        status_well(&ingest->status);
        return ingest->poll_ms;
    case ERR_CANCELLED:
        return ingest->poll_ms;
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED:
    case ERR_DATABASE_UNAVAILABLE:
    case ERR_OUTCOME_UNKNOWN:
    case ERR_NOT_REPLICATED:
    case ERR_SERIALIZATION:
    case ERR_NOT_YET:
        return failed(ingest, e, detail);
    default:
        reset_retries(ingest);
        status_failed(&ingest->status, e, true, detail);
        return ingest->poll_ms * STOPPED_POLLS;
    }
}

/*
 * After any trouble with the database a new session reads from the cursor what is true. A leader that cannot
 * go on lets another replica try: it may have a better RPC or a newer binary.
 */
static bool keeps_lead(const struct ingest *ingest, enum err e)
{
    switch (e) {
    case ERR_OK:
    case ERR_LEDGER_AHEAD:
    case ERR_CANCELLED:
        return true;
    case ERR_RPC_UNAVAILABLE:
    case ERR_RPC_REFUSED:
        return clock_ms() - ingest->failing_since_ms < (int64_t)ingest->poll_ms * GIVE_UP_POLLS;
    default:
        return false;
    }
}

/* The next lead begins without failures. */
static void give_up_lead(struct ingest *ingest)
{
    lead_drop(&ingest->lead);
    ingest->failing_since_ms = 0;
}

static void *run(void *context)
{
    struct ingest *ingest = context;
    unsigned pause_ms = 0;
    while (wait_or_stop(ingest, (int)pause_ms)) {
        struct detail detail = {0};
        enum err e = step(ingest, &detail);
        pause_ms = after(ingest, e, &detail);
        if (ingest->lead.held && !keeps_lead(ingest, e))
            give_up_lead(ingest);
        janitor_lead(ingest->janitor, ingest->lead.held);
    }
    return NULL;
}

static void tell_stop(struct ingest *ingest)
{
    if (eventfd_write(ingest->stop_fd, 1) != 0)
        log_error("ingestion cannot be woken", "error=\"%s\"", strerror(errno));
}

static void ingest_free(struct ingest *ingest)
{
    db_free(ingest->lead.db);
    rpc_free(ingest->rpc);
    rpc_free(ingest->funds_rpc);
    status_wipe(&ingest->status);
    close(ingest->stop_fd);
    free(ingest);
}

static enum err start_threads(
    struct ingest *ingest, const struct ingest_settings *settings, struct detail *detail)
{
    const struct janitor_settings janitor = {.database_direct_url = settings->database_direct_url,
        .retention_s = settings->retention_s,
        .stop_fd = ingest->stop_fd};
    enum err e = janitor_start(&janitor, &ingest->janitor, detail);
    if (e != ERR_OK)
        return e;
    const struct feed funds_feed = ingest->funds_rpc != NULL ? feed_of_rpc(ingest->funds_rpc) : ingest->feed;
    int error = funds_watch_start(&ingest->funds, &funds_feed, &settings->funds);
    bool watches = error == 0;
    if (watches)
        error = pthread_create(&ingest->thread, NULL, run, ingest);
    if (error == 0)
        return ERR_OK;
    tell_stop(ingest);
    if (watches)
        funds_watch_stop(&ingest->funds);
    janitor_join(ingest->janitor);
    return detail_set(detail, ERR_INTERNAL, "no thread for ingestion: %s", strerror(error));
}

/* Signals are for the program's own thread. */
static enum err start_without_signals(
    struct ingest *ingest, const struct ingest_settings *settings, struct detail *detail)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    enum err e = start_threads(ingest, settings, detail);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e;
}

enum err ingest_start_from(const struct ingest_settings *settings, const struct feed *feed,
    struct ingest **out, struct detail *detail)
{
    struct ingest *ingest = NEW(struct ingest);
    const struct db_settings db = {
        .url = settings->database_direct_url, .kind = DB_DIRECT, .name = "fairway ingest"};
    ingest->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (ingest->stop_fd < 0) {
        free(ingest);
        return detail_set(detail, ERR_INTERNAL, "eventfd: %s", strerror(errno));
    }
    status_init(&ingest->status, settings->ledger_seconds);
    ingest->lead = (struct lead){.db = db_new(&db),
        .locks = lock_numbers_of(&settings->network),
        .synchronous = settings->synchronous_failover,
        .ledger_seconds = settings->ledger_seconds};
    ingest->standby.patience_ms =
        settings->stale_ms != 0 ? settings->stale_ms : (settings->ledger_seconds + STALE_SLACK_S) * 1000;
    ingest->network = settings->network;
    ingest->poll_ms = settings->poll_ms;
    ingest->at_once = FEED_LIMIT_BEHIND;
    if (feed != NULL)
        ingest->feed = *feed;
    else {
        const struct rpc_settings rpc = {.url = settings->rpc_url, .cancel_fd = ingest->stop_fd};
        ingest->rpc = rpc_new(&rpc);
        ingest->funds_rpc = rpc_new(&rpc); /* each belongs to one thread */
        ingest->feed = feed_of_rpc(ingest->rpc);
    }
    enum err e = start_without_signals(ingest, settings, detail);
    if (e == ERR_OK)
        *out = ingest;
    else
        ingest_free(ingest);
    return e;
}

enum err ingest_start(const struct ingest_settings *settings, struct ingest **out, struct detail *detail)
{
    return ingest_start_from(settings, NULL, out, detail);
}

void ingest_stop(struct ingest *ingest)
{
    if (ingest == NULL)
        return;
    tell_stop(ingest);
    pthread_join(ingest->thread, NULL);
    funds_watch_stop(&ingest->funds);
    janitor_join(ingest->janitor);
    ingest_free(ingest);
}

bool ingest_ready(struct ingest *ingest, struct detail *why)
{
    return status_ready(&ingest->status, why);
}
