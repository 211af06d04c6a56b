#include "grant/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/accounts.h"

/* How often hang-ups and deadlines are looked for while anyone waits. */
#define SWEEP_MS 100
/* All are looked up so often, whether a NOTIFY comes or not. What was read longer ago than FRESH_MS is not
 * answered any more: what was pending may have ended. */
#define LOOK_EVERY_MS 1000
#define FRESH_MS 2000
/* No call to the database takes longer. */
#define CALL_MS 2000
#define PAUSE_MS 50

struct watch {
    pthread_t looker, sweeper;
    struct db *db;                 /* the looker's */
    int wake_fd;                   /* ends the looker's wait */
    pthread_mutex_t mutex;         /* guards what follows */
    pthread_cond_t changed;        /* for the sweeper */
    struct watch_ticket **tickets; /* by number */
    size_t count, room;
    uint64_t submitted;
    bool draining, stopping;
};

/* Tickets that have been taken out, to be answered without the mutex. */
struct over {
    struct watch_ticket **tickets;
    size_t count;
};

static void answer(struct over *over)
{
    for (size_t i = 0; i < over->count; i++)
        over->tickets[i]->done(over->tickets[i]);
    free(over->tickets);
}

static bool has_ended(const struct watch_ticket *ticket)
{
    return ticket->seen_ms != 0 && strcmp(ticket->status.status, "pending") != 0;
}

/* Whether the ticket is to be answered now; sets its error. While the watch drains, nobody waits. */
static bool is_over(struct watch_ticket *ticket, int64_t now_ms, bool draining, bool stopping)
{
    if (ticket->error != ERR_OK || has_ended(ticket))
        return true;
    const bool is_due = now_ms >= ticket->deadline_ms;
    const bool is_fresh = ticket->seen_ms != 0 && !ticket->failed && now_ms - ticket->seen_ms <= FRESH_MS;
    const bool in_vain = ticket->failed || now_ms >= ticket->arrived_ms + WATCH_READ_MS;
    if (stopping)
        ticket->error = ERR_SHUTTING_DOWN;
    else if (ticket->gone(ticket))
        ticket->error = ERR_CANCELLED;
    else if ((!is_due && !draining) || (!is_fresh && !in_vain))
        return false;
    else if (!is_due)
        ticket->error = ERR_SHUTTING_DOWN;
    else if (!is_fresh) {
        ticket->error = ERR_DATABASE_UNAVAILABLE;
        ticket->status = (struct lease_status){0};
    }
    return true;
}

/* Takes out what is over. The mutex is held. */
static struct over take_over(struct watch *watch)
{
    struct over over = {NEW_ARRAY(watch->count, struct watch_ticket *), 0};
    const int64_t now_ms = clock_ms();
    size_t kept = 0;
    for (size_t i = 0; i < watch->count; i++) {
        struct watch_ticket *ticket = watch->tickets[i];
        if (is_over(ticket, now_ms, watch->draining, watch->stopping))
            over.tickets[over.count++] = ticket;
        else
            watch->tickets[kept++] = ticket;
    }
    watch->count = kept;
    return over;
}

static void *sweep(void *context)
{
    struct watch *watch = context;
    bool stopping = false;
    while (!stopping) {
        pthread_mutex_lock(&watch->mutex);
        const struct timespec next = clock_timespec(clock_ms() + SWEEP_MS);
        if (watch->count == 0 && !watch->stopping)
            pthread_cond_wait(&watch->changed, &watch->mutex);
        else if (!watch->stopping)
            pthread_cond_timedwait(&watch->changed, &watch->mutex, &next);
        stopping = watch->stopping;
        struct over over = take_over(watch);
        pthread_mutex_unlock(&watch->mutex);
        answer(&over);
    }
    return NULL;
}

/* ---- looking */

/* Copies of what is looked up: the tickets may be answered meanwhile. */
struct look {
    size_t count;
    uint64_t *numbers;
    char (*clients)[CLIENT_SIZE];
    struct lease_lookup *lookups;
};

static void look_free(struct look *look)
{
    free(look->numbers);
    free(look->clients);
    free(look->lookups);
}

static struct look look_at(struct watch *watch, bool all)
{
    pthread_mutex_lock(&watch->mutex);
    struct look look = {.numbers = NEW_ARRAY(watch->count, uint64_t),
        .clients = mem_new(watch->count, CLIENT_SIZE),
        .lookups = NEW_ARRAY(watch->count, struct lease_lookup)};
    for (size_t i = 0; i < watch->count; i++) {
        const struct watch_ticket *ticket = watch->tickets[i];
        if (!all && ticket->seen_ms != 0)
            continue;
        look.numbers[look.count] = ticket->number;
        memcpy(look.clients[look.count], ticket->client, CLIENT_SIZE);
        look.lookups[look.count] =
            (struct lease_lookup){.hash = ticket->hash, .client = look.clients[look.count]};
        look.count++;
    }
    pthread_mutex_unlock(&watch->mutex);
    return look;
}

/* What is in no row is unknown to that client. */
static void tell(struct watch_ticket *ticket, const struct look *look, size_t i, enum err e, int64_t now_ms)
{
    ticket->failed = e != ERR_OK;
    if (e != ERR_OK)
        return;
    if (!look->lookups[i].found)
        ticket->error = ERR_TRANSACTION_NOT_FOUND;
    ticket->status = look->lookups[i].status;
    ticket->seen_ms = now_ms;
}

/* Both stand in the order of their numbers. */
static void tell_all(struct watch *watch, const struct look *look, enum err e)
{
    const int64_t now_ms = clock_ms();
    pthread_mutex_lock(&watch->mutex);
    for (size_t i = 0, k = 0; i < look->count; i++) {
        while (k < watch->count && watch->tickets[k]->number < look->numbers[i])
            k++;
        if (k < watch->count && watch->tickets[k]->number == look->numbers[i])
            tell(watch->tickets[k], look, i, e, now_ms);
    }
    struct over over = take_over(watch);
    pthread_mutex_unlock(&watch->mutex);
    answer(&over);
}

static void look_up(struct watch *watch, bool all, bool *blind)
{
    struct look look CLEANUP(look_free) = look_at(watch, all);
    struct detail detail = {0};
    if (look.count == 0)
        return;
    db_set_deadline(watch->db, clock_ms() + CALL_MS);
    enum err e = lease_lookup(watch->db, look.lookups, look.count, &detail);
    if (e != ERR_OK && !*blind)
        log_warn("transactions that are waited for cannot be looked up", "error=%s detail=\"%s\"",
            err_code(e), detail.text);
    if (e == ERR_OK && *blind)
        log_info("transactions that are waited for are looked up again", NULL);
    *blind = e != ERR_OK;
    tell_all(watch, &look, e);
}

/* Waits until something may have happened. Returns true when leases may have ended. */
static bool wait_for_news(struct watch *watch)
{
    struct detail detail = {0};
    eventfd_t submitted;
    bool notified = false;
    db_set_deadline(watch->db, clock_ms() + CALL_MS);
    if (db_wait_notify(watch->db, LOOK_EVERY_MS, watch->wake_fd, &notified, &detail) != ERR_OK) {
        log_debug("no notifications", "detail=\"%s\"", detail.text);
        clock_sleep_ms(PAUSE_MS);
    }
    (void)!eventfd_read(watch->wake_fd, &submitted);
    return notified;
}

static bool is_stopping(struct watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    bool stopping = watch->stopping;
    pthread_mutex_unlock(&watch->mutex);
    return stopping;
}

/* Arrivals are looked up by themselves, so that many that wait do not make each arrival expensive. */
static void *look_for_ends(void *context)
{
    struct watch *watch = context;
    struct detail detail = {0};
    int64_t all_ms = 0;
    bool blind = false;
    db_set_deadline(watch->db, clock_ms() + CALL_MS);
    if (db_listen(watch->db, ACCOUNTS_CHANNEL, &detail) != ERR_OK) /* the next connection does it */
        log_debug("no notifications", "detail=\"%s\"", detail.text);
    while (!is_stopping(watch)) {
        bool all = wait_for_news(watch) || clock_ms() >= all_ms;
        if (all)
            all_ms = clock_ms() + LOOK_EVERY_MS;
        look_up(watch, all, &blind);
    }
    return NULL;
}

/* ---- */

static void start_thread(pthread_t *thread, void *(*run)(void *), struct watch *watch)
{
    if (pthread_create(thread, NULL, run, watch) != 0)
        log_fatal(EX_OSERR, "cannot create a thread", NULL);
}

enum err watch_start(const char *database_direct_url, struct watch **out, struct detail *detail)
{
    struct watch *watch = NEW(struct watch);
    pthread_condattr_t monotonic;
    watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->wake_fd < 0) {
        free(watch);
        return detail_set(detail, ERR_INTERNAL, "eventfd failed");
    }
    pthread_mutex_init(&watch->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    watch->db =
        db_new(&(struct db_settings){.url = database_direct_url, .kind = DB_DIRECT, .name = "fairway watch"});
    start_thread(&watch->looker, look_for_ends, watch);
    start_thread(&watch->sweeper, sweep, watch);
    *out = watch;
    return ERR_OK;
}

static void wake(struct watch *watch)
{
    if (eventfd_write(watch->wake_fd, 1) != 0)
        log_error("eventfd_write failed", NULL);
}

enum err watch_submit(struct watch *watch, struct watch_ticket *ticket)
{
    ticket->error = ERR_OK;
    ticket->status = (struct lease_status){0};
    ticket->arrived_ms = clock_ms();
    ticket->seen_ms = 0;
    ticket->failed = false;
    pthread_mutex_lock(&watch->mutex);
    enum err e = watch->stopping ? ERR_SHUTTING_DOWN : watch->count >= WATCH_MAX ? ERR_OVERLOADED : ERR_OK;
    if (e == ERR_OK) {
        if (watch->count == watch->room) {
            watch->room = watch->room == 0 ? 64 : watch->room * 2;
            watch->tickets = mem_grow(watch->tickets, watch->room, sizeof watch->tickets[0]);
        }
        ticket->number = watch->submitted++;
        watch->tickets[watch->count++] = ticket;
        pthread_cond_signal(&watch->changed);
    }
    pthread_mutex_unlock(&watch->mutex);
    if (e == ERR_OK)
        wake(watch);
    return e;
}

static void set(struct watch *watch, bool *flag)
{
    pthread_mutex_lock(&watch->mutex);
    *flag = true;
    pthread_cond_signal(&watch->changed);
    pthread_mutex_unlock(&watch->mutex);
    wake(watch);
}

void watch_drain(struct watch *watch)
{
    set(watch, &watch->draining);
}

void watch_stop(struct watch *watch)
{
    set(watch, &watch->stopping);
    pthread_join(watch->sweeper, NULL);
    pthread_join(watch->looker, NULL);
    db_free(watch->db);
    close(watch->wake_fd);
    pthread_cond_destroy(&watch->changed);
    pthread_mutex_destroy(&watch->mutex);
    free(watch->tickets);
    free(watch);
}
