/* Housekeeping, a small step at a time. No ledger and no grant waits for it longer than JANITOR_LOCK_MS. */
#include "upkeep/janitor.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "db/db.h"
#include "pool/oldest_snapshot.h"
#include "pool/retention.h"

/* ---- old snapshots */

/* Warns when an old snapshot keeps vacuum from removing dead rows: each lease leaves two, and what reads the
 * accounts gets slower with each. */
struct snapshot_watch {
    int64_t next_ms; /* when it looks again */
    int64_t warn_ms; /* when it warns again; 0: at once */
};

#define LOOK_EVERY_MS 10000
#define WARN_EVERY_MS 600000

static const char *remedy_of(const struct oldest_snapshot *snapshot)
{
    if (strcmp(snapshot->what, "session") == 0)
        return "end its transaction: pg_terminate_backend(pid)";
    if (strcmp(snapshot->what, "standby") == 0)
        return "end the long transactions on that standby";
    if (strcmp(snapshot->what, "replication slot") == 0)
        return "end the long transactions on its standby; drop the slot if the standby is gone";
    return "COMMIT PREPARED or ROLLBACK PREPARED";
}

static void judge(struct snapshot_watch *watch, const struct oldest_snapshot *snapshot)
{
    const int64_t now_ms = clock_ms();
    if (snapshot->age_s < SNAPSHOT_OLD_S) {
        if (watch->warn_ms != 0)
            log_info("vacuum can remove dead rows again: the old snapshot is gone", NULL);
        watch->warn_ms = 0;
    } else if (now_ms >= watch->warn_ms) {
        log_warn("an old snapshot prevents vacuum from removing dead rows; the table of accounts grows until "
                 "that snapshot ends",
            "holder=\"%s\" name=\"%s\" user=\"%s\" pid=%d age_s=%" PRId64 " remedy=\"%s\"", snapshot->what,
            snapshot->name, snapshot->user, snapshot->pid, snapshot->age_s, remedy_of(snapshot));
        watch->warn_ms = now_ms + WARN_EVERY_MS;
    }
}

/* Looks, at most every ten seconds; else returns ERR_OK at once. */
static enum err snapshot_watch_step(struct snapshot_watch *watch, struct db *db, struct detail *detail)
{
    struct oldest_snapshot snapshot;
    if (clock_ms() < watch->next_ms)
        return ERR_OK;
    watch->next_ms = clock_ms() + LOOK_EVERY_MS;
    enum err e = oldest_snapshot_read(db, &snapshot, detail);
    if (e == ERR_OK)
        judge(watch, &snapshot);
    return e;
}

/* ---- housekeeping */

#define LEAD_EVERY_MS 1000   /* between checks whether this replica leads */
#define ROUND_EVERY_MS 10000 /* between rounds, when the last one left nothing to do or failed */
/* One step a round has to be enough while another kind fails: each call of a contract leaves a claim. */
#define STEP_ROWS 2000

struct janitor {
    struct db *db;
    int64_t retention_s;
    enum retention next;   /* step. An error ends a round, and the next round begins with the step after it */
    struct detail problem; /* the error of the last round; empty: it succeeded */
    struct snapshot_watch snapshots;
    const atomic_bool *leads;
    const struct stop *stop;
    pthread_t thread;
};

/* One step of each kind; an error ends the round. *more: a step did as much as it may, so more may be left.
 * In a shortage of accounts some reports of waiting requests have become old whenever one looks. */
static enum err run_round(struct janitor *janitor, bool *more, struct detail *detail)
{
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < RETENTION_KINDS; i++) {
        size_t changed;
        const enum retention kind = janitor->next;
        const bool by_rows = kind == RETENTION_LEDGERS || kind == RETENTION_FORGET;
        e = retention_step(janitor->db, kind, janitor->retention_s, STEP_ROWS, &changed, detail);
        janitor->next = (kind + 1) % RETENTION_KINDS;
        *more |= changed >= (by_rows ? STEP_ROWS : 1);
    }
    return e;
}

static void log_change(struct janitor *janitor, enum err e, const struct detail *detail)
{
    const bool failed = janitor->problem.text[0] != '\0';
    if (e != ERR_OK && strcmp(detail->text, janitor->problem.text) != 0)
        log_warn("housekeeping failed; retrying", "error=%s detail=\"%s\"", err_code(e), detail->text);
    if (e == ERR_OK && failed)
        log_info("housekeeping recovered", NULL);
    janitor->problem = e != ERR_OK ? *detail : (struct detail){0};
}

/* One round, if this replica leads. Returns the milliseconds until the next one. */
static unsigned work(struct janitor *janitor)
{
    struct detail detail = {0};
    bool more = false;
    if (!atomic_load(janitor->leads)) {
        db_disconnect(janitor->db);
        return LEAD_EVERY_MS;
    }
    const int64_t start_ms = clock_ms();
    /* First: whoever keeps an old snapshot may also have the locks that fail the round. */
    const enum err watched = snapshot_watch_step(&janitor->snapshots, janitor->db, &detail);
    enum err e = run_round(janitor, &more, &detail);
    if (e == ERR_OK)
        e = watched;
    log_change(janitor, e, &detail);
    /* The janitor works half of the time at most: grants and ledgers need the disk too. */
    return e == ERR_OK && more ? (unsigned)(clock_ms() - start_ms) + 1 : ROUND_EVERY_MS;
}

static void *run(void *context)
{
    struct janitor *janitor = context;
    unsigned pause_ms = LEAD_EVERY_MS;
    while (stop_wait(janitor->stop, pause_ms))
        pause_ms = work(janitor);
    return NULL;
}

struct janitor *janitor_start(const struct janitor_settings *settings)
{
    struct janitor *janitor = NEW(struct janitor);
    *janitor = (struct janitor){
        .db = db_new(&(struct db_settings){.url = settings->database_url,
            .name = "fairway janitor",
            .connect_timeout_s = JANITOR_CONNECT_S,
            .statement_timeout_ms = JANITOR_STATEMENT_MS,
            .lock_timeout_ms = JANITOR_LOCK_MS}),
        .retention_s = settings->retention_s,
        .leads = settings->leads,
        .stop = settings->stop,
    };
    thread_start(&janitor->thread, "housekeeping", run, janitor);
    return janitor;
}

void janitor_join(struct janitor *janitor)
{
    if (janitor == NULL)
        return;
    pthread_join(janitor->thread, NULL);
    db_free(janitor->db);
    free(janitor);
}
