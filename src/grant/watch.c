/* Tells those who wait for a lease what has become of it, and the engine that accounts may be idle. */
#include "grant/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/ticker.h"
#include "pool/accounts.h"

/* All tickets are looked up this often, also without a notification. */
#define LOOKUP_EVERY_MS 1000
/* Tickets in one statement: see lease_lookup for its cost. */
#define LOOKUPS 128
/* A pause after waiting for notifications has failed. */
#define PAUSE_MS 50

struct watch {
    pthread_t lookup_thread;
    struct engine *engine;         /* told of each notification; NULL: none */
    void (*ledger)(void *context); /* the same */
    void *ledger_context;
    struct db *db;                 /* the lookup thread's */
    int wake_fd;                   /* ends the lookup thread's wait */
    pthread_mutex_t mutex;         /* guards what follows */
    struct watch_ticket **tickets; /* those that wait, ordered by number */
    size_t count, room;
    uint64_t submitted;
    uint64_t ends; /* of watch_ends */
    bool draining, stopping;
};

/* Tickets that have been removed; done is called after the mutex has been unlocked. */
struct ended {
    struct watch_ticket **tickets;
    size_t count;
};

static void call_done(struct ended *ended)
{
    for (size_t i = 0; i < ended->count; i++)
        ended->tickets[i]->done(ended->tickets[i]);
    free(ended->tickets);
}

/* Or its submission was rejected since the wait began: waiting does not help. */
static bool lease_has_ended(const struct watch_ticket *ticket)
{
    return ticket->read_ms != 0 && (strcmp(ticket->status.status, "pending") != 0 ||
                                       (ticket->status.rejected.len > 0 && !ticket->rejected_before));
}

/* Whether the ticket's wait is over; if so, sets its error. The mutex is held. */
static bool is_over(const struct watch *watch, struct watch_ticket *ticket, int64_t now_ms)
{
    if (ticket->error != ERR_OK || lease_has_ended(ticket))
        return true;
    const bool is_due = now_ms >= ticket->deadline_ms;
    if (ticket->any) {
        ticket->error = watch->draining || watch->stopping ? ERR_SHUTTING_DOWN : ERR_OK;
        return is_due || ticket->ends != watch->ends || ticket->error != ERR_OK;
    }
    const bool is_fresh =
        ticket->read_ms != 0 && !ticket->read_failed && now_ms - ticket->read_ms <= WATCH_FRESH_MS;
    const bool read_late = ticket->read_failed || now_ms >= ticket->arrived_ms + WATCH_READ_MS;
    if (watch->stopping)
        ticket->error = ERR_SHUTTING_DOWN;
    else if ((!is_due && !watch->draining) || (!is_fresh && !read_late))
        return false;
    else if (!is_due)
        ticket->error = ERR_SHUTTING_DOWN;
    else if (!is_fresh) {
        ticket->error = ERR_DATABASE_UNAVAILABLE;
        lease_status_free(&ticket->status);
    }
    return true;
}

/* The mutex is held. */
static struct ended take_ended(struct watch *watch)
{
    INVARIANT_LOCKED(&watch->mutex);
    struct ended ended = {NEW_ARRAY(watch->count, struct watch_ticket *), 0};
    const int64_t now_ms = clock_ms();
    size_t kept = 0;
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_ticket *ticket = watch->tickets[i];
        INVARIANT(ticket->waits && (i == 0 || watch->tickets[i - 1]->number < ticket->number));
        if (is_over(watch, ticket, now_ms)) {
            ticket->waits = false;
            ended.tickets[ended.count++] = ticket;
        } else {
            watch->tickets[kept++] = ticket;
        }
    }
    watch->count = kept;
    return ended;
}

/* Called by the ticker, and when the watch drains or stops. */
static bool end_waits(void *context)
{
    struct watch *watch = context;
    pthread_mutex_lock(&watch->mutex);
    struct ended ended = take_ended(watch);
    const bool watches = watch->count > 0;
    pthread_mutex_unlock(&watch->mutex);
    call_done(&ended);
    return watches;
}

/* ---- told by ingestion */

void watch_ended(void *context, const struct lease_ends *ends)
{
    struct watch *watch = context;
    pthread_mutex_lock(&watch->mutex);
    watch->ends++;
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_ticket *ticket = watch->tickets[i];
        /* its hash is 0 until the first look-up, but of a call */
        const struct lease_end *end = lease_ends_find(ends, &ticket->status.hash);
        if (end != NULL)
            lease_status_end(&ticket->status, ends, end);
    }
    struct ended ended = take_ended(watch);
    pthread_mutex_unlock(&watch->mutex);
    call_done(&ended);
}

uint64_t watch_ends(struct watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    const uint64_t ends = watch->ends;
    pthread_mutex_unlock(&watch->mutex);
    return ends;
}

/* ---- the lookup thread */

/* What is looked up. A copy, because tickets may end during the lookup. All arrays have `count` items. */
struct lookup_batch {
    size_t count;
    uint64_t *numbers; /* of the tickets */
    char (*clients)[CLIENT_SIZE];
    struct lease_lookup *lookups;
};

static void lookup_batch_free(struct lookup_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        lease_status_free(&batch->lookups[i].status);
    free(batch->numbers);
    free(batch->clients);
    free(batch->lookups);
}

/* The tickets to look up: all, or only those that have never been looked up. */
static struct lookup_batch collect(struct watch *watch, bool all)
{
    pthread_mutex_lock(&watch->mutex);
    struct lookup_batch batch = {.numbers = NEW_ARRAY(watch->count, uint64_t),
        .clients = mem_new(watch->count, CLIENT_SIZE),
        .lookups = NEW_ARRAY(watch->count, struct lease_lookup)};
    for (size_t i = 0; i < watch->count; i++) {
        const struct watch_ticket *ticket = watch->tickets[i];
        if (ticket->any || (!all && ticket->read_ms != 0))
            continue;
        batch.numbers[batch.count] = ticket->number;
        memcpy(batch.clients[batch.count], ticket->client, CLIENT_SIZE);
        batch.lookups[batch.count] = (struct lease_lookup){.hash = ticket->hash,
            .client = batch.clients[batch.count],
            .wants_envelope = ticket->wants_envelope,
            .status = {.hash = ticket->status.hash, .granted_us = ticket->status.granted_us}};
        batch.count++;
    }
    pthread_mutex_unlock(&watch->mutex);
    return batch;
}

/* Moves the status to the ticket. */
static void set_status(struct watch_ticket *ticket, struct lease_lookup *lookup, enum err e, int64_t now_ms)
{
    ticket->read_failed = e != ERR_OK;
    if (e != ERR_OK)
        return;
    if (!lookup->found)
        ticket->error = ERR_TRANSACTION_NOT_FOUND;
    ticket->rejected_before = lookup->status.rejected.len > 0 &&
                              (ticket->read_ms == 0 ? !ticket->submitted : ticket->rejected_before);
    lease_status_free(&ticket->status);
    ticket->status = lookup->status;
    lookup->status = (struct lease_status){0};
    ticket->read_ms = now_ms;
}

/* Hands the result of a lookup to the tickets that still wait. Items and tickets are ordered by number. */
static void apply(struct watch *watch, const struct lookup_batch *batch, enum err e)
{
    const int64_t now_ms = clock_ms();
    pthread_mutex_lock(&watch->mutex);
    for (size_t i = 0, k = 0; i < batch->count; i++) {
        while (k < watch->count && watch->tickets[k]->number < batch->numbers[i])
            k++;
        if (k < watch->count && watch->tickets[k]->number == batch->numbers[i])
            set_status(watch->tickets[k], &batch->lookups[i], e, now_ms);
    }
    struct ended ended = take_ended(watch);
    pthread_mutex_unlock(&watch->mutex);
    call_done(&ended);
}

/* Looks up some tickets after the other; after an error, the remaining ones get it too. *failing: the last
 * lookup failed. */
static void look_up(struct watch *watch, bool all, bool *failing)
{
    struct lookup_batch batch CLEANUP(lookup_batch_free) = collect(watch, all);
    struct detail detail = {0};
    enum err e = ERR_OK;
    if (batch.count == 0)
        return;
    db_set_deadline(watch->db, clock_ms() + WATCH_CALL_MS);
    for (size_t from = 0; from < batch.count; from += LOOKUPS) {
        const size_t left = batch.count - from;
        const struct lookup_batch part = {.count = left < LOOKUPS ? left : LOOKUPS,
            .numbers = &batch.numbers[from],
            .clients = &batch.clients[from],
            .lookups = &batch.lookups[from]};
        if (e == ERR_OK)
            e = lease_lookup(watch->db, part.lookups, part.count, &detail);
        apply(watch, &part, e);
    }
    if (e != ERR_OK && !*failing)
        log_warn("cannot look up the transactions that clients wait for; retrying", "error=%s detail=\"%s\"",
            err_code(e), detail.text);
    if (e == ERR_OK && *failing)
        log_info("transactions that clients wait for are looked up again", NULL);
    *failing = e != ERR_OK;
}

static void tell(struct watch *watch)
{
    if (watch->engine != NULL)
        engine_released(watch->engine);
    if (watch->ledger != NULL)
        watch->ledger(watch->ledger_context);
}

/* Waits for a notification, a new ticket or LOOKUP_EVERY_MS. Returns true when leases may have ended. */
static bool wait_for_notification(struct watch *watch)
{
    struct detail detail = {0};
    eventfd_t submitted;
    bool notified = false;
    db_set_deadline(watch->db, clock_ms() + WATCH_CALL_MS);
    if (db_wait_notify(watch->db, LOOKUP_EVERY_MS, watch->wake_fd, &notified, &detail) != ERR_OK) {
        log_debug("no notifications", "detail=\"%s\"", detail.text);
        clock_sleep_ms(PAUSE_MS);
    }
    (void)!eventfd_read(watch->wake_fd, &submitted);
    if (notified) {
        tell(watch);
        watch_ended(watch, &(const struct lease_ends){0});
    }
    return notified;
}

static bool is_stopping(struct watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    bool stopping = watch->stopping;
    pthread_mutex_unlock(&watch->mutex);
    return stopping;
}

/* New tickets are looked up by themselves, so that many that wait do not make each new one expensive. */
static void *look_up_leases(void *context)
{
    struct watch *watch = context;
    struct detail detail = {0};
    int64_t all_ms = 0;
    bool failing = false;
    db_set_deadline(watch->db, clock_ms() + WATCH_CALL_MS);
    if (db_listen(watch->db, ACCOUNTS_CHANNEL, &detail) != ERR_OK)
        log_debug("LISTEN failed; repeated with the next connection", "detail=\"%s\"", detail.text);
    while (!is_stopping(watch)) {
        bool all = wait_for_notification(watch) || clock_ms() >= all_ms;
        if (all)
            all_ms = clock_ms() + LOOKUP_EVERY_MS;
        look_up(watch, all, &failing);
    }
    return NULL;
}

/* ---- */

struct watch *watch_start(const char *database_url, const char *name, struct engine *engine,
    void (*ledger)(void *context), void *context)
{
    struct watch *watch = NEW(struct watch);
    watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->wake_fd < 0)
        log_fatal(EX_OSERR, "eventfd failed", NULL);
    pthread_mutex_init(&watch->mutex, NULL);
    watch->engine = engine;
    watch->ledger = ledger;
    watch->ledger_context = context;
    watch->db = db_new(&(struct db_settings){.url = database_url, .name = name});
    thread_start(&watch->lookup_thread, "watch", look_up_leases, watch);
    ticker_add(end_waits, watch);
    return watch;
}

enum err watch_submit(struct watch *watch, struct watch_ticket *ticket)
{
    pthread_mutex_lock(&watch->mutex);
    enum err e = ticket->cancelled           ? ERR_CANCELLED
                 : watch->stopping           ? ERR_SHUTTING_DOWN
                 : watch->count >= WATCH_MAX ? ERR_OVERLOADED
                                             : ERR_OK;
    if (e == ERR_OK) {
        if (watch->count == watch->room) {
            watch->room = watch->room == 0 ? 64 : watch->room * 2;
            watch->tickets = mem_grow(watch->tickets, watch->room, sizeof watch->tickets[0]);
        }
        INVARIANT(!ticket->waits);
        ticket->waits = true;
        ticket->arrived_ms = clock_ms();
        ticket->number = watch->submitted++;
        watch->tickets[watch->count++] = ticket;
    }
    pthread_mutex_unlock(&watch->mutex);
    if (e == ERR_OK) {
        (void)!eventfd_write(watch->wake_fd, 1);
        ticker_wake();
    }
    return e;
}

/* The mutex is held. */
static void remove_ticket(struct watch *watch, struct watch_ticket *ticket)
{
    size_t at = 0;
    INVARIANT_LOCKED(&watch->mutex);
    while (at < watch->count && watch->tickets[at] != ticket)
        at++;
    INVARIANT(at < watch->count);
    watch->count--;
    memmove(&watch->tickets[at], &watch->tickets[at + 1], (watch->count - at) * sizeof watch->tickets[0]);
    ticket->waits = false;
}

void watch_cancel(struct watch *watch, struct watch_ticket *ticket)
{
    pthread_mutex_lock(&watch->mutex);
    const bool waits = ticket->waits;
    if (waits)
        remove_ticket(watch, ticket);
    else
        ticket->cancelled = true; /* seen by watch_submit */
    pthread_mutex_unlock(&watch->mutex);
    if (!waits)
        return;
    ticket->error = ERR_CANCELLED;
    ticket->done(ticket);
}

static void set_flag(struct watch *watch, bool *flag)
{
    pthread_mutex_lock(&watch->mutex);
    *flag = true;
    pthread_mutex_unlock(&watch->mutex);
    (void)!eventfd_write(watch->wake_fd, 1);
    end_waits(watch);
}

void watch_drain(struct watch *watch)
{
    set_flag(watch, &watch->draining);
}

void watch_stop(struct watch *watch)
{
    set_flag(watch, &watch->stopping);
    ticker_remove(watch);
    pthread_join(watch->lookup_thread, NULL);
    INVARIANT(watch->count == 0);
}

void watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    db_free(watch->db);
    close(watch->wake_fd);
    pthread_mutex_destroy(&watch->mutex);
    free(watch->tickets);
    free(watch);
}
