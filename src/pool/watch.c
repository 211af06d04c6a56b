#include "pool/watch.h"

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
#include "pool/settle.h"

/* How often hang-ups and deadlines are looked for while anyone waits, and how long a missed NOTIFY can cost.
 */
#define SWEEP_MS 100
#define SLOW_POLL_MS 1000

struct watch {
    pthread_t thread;
    struct db *db;
    int wake_fd;
    pthread_mutex_t mutex; /* guards what follows */
    struct watch_ticket *arrived;
    size_t count; /* arrived or waiting */
    bool draining, stopping;
};

static void answer(struct watch *watch, struct watch_ticket *ticket, enum err e)
{
    pthread_mutex_lock(&watch->mutex);
    watch->count--;
    pthread_mutex_unlock(&watch->mutex);
    ticket->error = e;
    ticket->done(ticket);
}

/* Hashes may be of fee bumps; the ordinal tells whose row it is. */
static const char sql_watched[] =
    "SELECT n.ordinal - 1, l.hash, l.account, l.sequence, l.max_time, coalesce(l.result, 'pending'),"
    " coalesce(l.result_code, ''), coalesce(l.ledger, 0), coalesce(g.close_time, 0)"
    " FROM unnest($1::bytea[], $2::text[]) WITH ORDINALITY AS n (hash, client, ordinal)"
    " LEFT JOIN fairway.fee_bumps b ON b.hash = n.hash"
    " JOIN fairway.leases l ON l.hash = coalesce(b.lease_hash, n.hash)"
    " AND l.client = n.client"
    " LEFT JOIN fairway.ledgers g ON g.sequence = l.ledger";

static struct lease_status read_status(const struct db_rows *rows, size_t row)
{
    struct lease_status status = {.sequence = db_i64(rows, row, 3),
        .max_time_s = db_i64(rows, row, 4),
        .ledger = db_i64(rows, row, 7),
        .closed_at_s = db_i64(rows, row, 8)};
    memcpy(status.hash.bytes, db_bytea(rows, row, 1).data, sizeof status.hash.bytes);
    snprintf(status.account, sizeof status.account, "%s", db_text(rows, row, 2));
    snprintf(status.status, sizeof status.status, "%s", db_text(rows, row, 5));
    snprintf(status.result_code, sizeof status.result_code, "%s", db_text(rows, row, 6));
    return status;
}

/* What is in no row is unknown to that client. */
static void read_rows(struct watch_ticket *const tickets[], size_t count, const struct db_rows *rows)
{
    for (size_t i = 0; i < count; i++)
        tickets[i]->error = ERR_TRANSACTION_NOT_FOUND;
    for (size_t row = 0; row < db_count(rows); row++) {
        struct watch_ticket *ticket = tickets[db_i64(rows, row, 0)];
        ticket->error = ERR_OK;
        ticket->status = read_status(rows, row);
    }
}

static enum err read_tickets(
    struct db *db, struct watch_ticket *const tickets[], size_t count, struct detail *detail)
{
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(count, struct bytes);
    const char **clients AUTO_FREE = NEW_ARRAY(count, const char *);
    AUTO_ROWS rows = NULL;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = BYTES_OF(tickets[i]->hash.bytes);
        clients[i] = tickets[i]->client;
    }
    enum err e =
        db_query(db, DB_SQL(sql_watched, DB_BYTEAS(hashes, count), DB_TEXTS(clients, count)), &rows, detail);
    if (e == ERR_OK)
        read_rows(tickets, count, rows);
    return e;
}

/* One query for all. Without an answer nothing is known any more: what was pending may have ended. */
static void look(struct db *db, struct watch_ticket *const tickets[], size_t count, bool *blind)
{
    struct detail detail = {0};
    if (count == 0)
        return;
    enum err e = read_tickets(db, tickets, count, &detail);
    for (size_t i = 0; e != ERR_OK && i < count; i++) {
        tickets[i]->error = ERR_OK;
        tickets[i]->status = (struct lease_status){0};
    }
    if (e != ERR_OK && !*blind)
        log_warn("cannot look up waiting transactions", "error=%s detail=\"%s\"", err_code(e), detail.text);
    if (e == ERR_OK && *blind)
        log_info("waiting transactions are looked up again", NULL);
    *blind = e != ERR_OK;
}

/* Whether the ticket is to be answered now, and with what. */
static bool is_over(struct watch_ticket *ticket, int64_t now_ms, bool draining, enum err *e)
{
    bool known = ticket->status.status[0] != '\0';
    bool ended = known && strcmp(ticket->status.status, "pending") != 0;
    *e = ticket->error;
    if (*e != ERR_OK || ended)
        return true;
    if (now_ms >= ticket->deadline_ms) {
        *e = known ? ERR_OK : ERR_DATABASE_UNAVAILABLE;
        return true;
    }
    *e = draining ? ERR_SHUTTING_DOWN : ERR_CANCELLED;
    return draining || ticket->gone(ticket);
}

/* The thread's own list. */
struct waiting {
    struct watch_ticket **tickets;
    size_t count, room;
};

/* Takes in what has arrived, behind those that wait. */
static void take_arrived(struct watch *watch, struct waiting *waiting, bool *draining, bool *stopping)
{
    pthread_mutex_lock(&watch->mutex);
    struct watch_ticket *ticket = watch->arrived;
    watch->arrived = NULL;
    *draining = watch->draining;
    *stopping = watch->stopping;
    pthread_mutex_unlock(&watch->mutex);
    for (struct watch_ticket *next; ticket != NULL; ticket = next) {
        next = ticket->next;
        if (waiting->count == waiting->room) {
            waiting->room = waiting->room == 0 ? 64 : waiting->room * 2;
            waiting->tickets = mem_grow(waiting->tickets, waiting->room, sizeof waiting->tickets[0]);
        }
        waiting->tickets[waiting->count++] = ticket;
    }
}

static void answer_from(
    struct watch *watch, struct waiting *waiting, size_t first, bool draining, bool stopping)
{
    int64_t now_ms = clock_ms();
    size_t kept = first;
    for (size_t i = first; i < waiting->count; i++) {
        enum err e = ERR_SHUTTING_DOWN;
        if (stopping || is_over(waiting->tickets[i], now_ms, draining, &e))
            answer(watch, waiting->tickets[i], e);
        else
            waiting->tickets[kept++] = waiting->tickets[i];
    }
    waiting->count = kept;
}

/* Until something may have happened: true when leases may have ended. */
static bool wait_for_news(struct watch *watch, int timeout_ms)
{
    struct detail detail = {0};
    eventfd_t drained;
    bool notified = false;
    if (db_wait_notify(watch->db, timeout_ms, watch->wake_fd, &notified, &detail) != ERR_OK) {
        log_debug("no notifications", "detail=\"%s\"", detail.text);
        clock_sleep_ms(SWEEP_MS);
    }
    (void)!eventfd_read(watch->wake_fd, &drained);
    return notified;
}

/* Arrivals are looked up by themselves, so that many that wait do not make each arrival dear. */
static void *run(void *context)
{
    struct watch *watch = context;
    struct waiting waiting = {0};
    struct detail detail = {0};
    int64_t look_ms = 0, sweep_ms = 0;
    bool blind = false, draining = false;
    if (db_listen(watch->db, POOL_CHANNEL, &detail) != ERR_OK) /* the next connection will do it */
        log_debug("no notifications", "detail=\"%s\"", detail.text);
    for (bool stopping = false; !stopping;) {
        bool look_at_all = wait_for_news(watch, waiting.count > 0 ? SWEEP_MS : SLOW_POLL_MS);
        size_t first_new = waiting.count;
        take_arrived(watch, &waiting, &draining, &stopping);
        look_at_all |= clock_ms() >= look_ms;
        bool sweep = look_at_all || draining || stopping || clock_ms() >= sweep_ms;
        size_t first_looked = look_at_all ? 0 : first_new;
        if (!stopping)
            look(watch->db, waiting.tickets + first_looked, waiting.count - first_looked, &blind);
        answer_from(watch, &waiting, sweep ? 0 : first_new, draining, stopping);
        if (look_at_all)
            look_ms = clock_ms() + SLOW_POLL_MS;
        if (sweep)
            sweep_ms = clock_ms() + SWEEP_MS;
    }
    free(waiting.tickets);
    return NULL;
}

enum err watch_start(const char *database_direct_url, struct watch **out, struct detail *detail)
{
    struct watch *watch = NEW(struct watch);
    watch->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watch->wake_fd < 0) {
        free(watch);
        return detail_set(detail, ERR_INTERNAL, "eventfd failed");
    }
    pthread_mutex_init(&watch->mutex, NULL);
    watch->db =
        db_new(&(struct db_settings){.url = database_direct_url, .kind = DB_DIRECT, .name = "fairway watch"});
    if (pthread_create(&watch->thread, NULL, run, watch) != 0)
        log_fatal(EX_OSERR, "cannot create a thread", NULL);
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
    pthread_mutex_lock(&watch->mutex);
    enum err e = watch->stopping ? ERR_SHUTTING_DOWN : watch->count >= WATCH_MAX ? ERR_OVERLOADED : ERR_OK;
    if (e == ERR_OK) {
        ticket->next = watch->arrived;
        watch->arrived = ticket;
        watch->count++;
    }
    pthread_mutex_unlock(&watch->mutex);
    if (e == ERR_OK)
        wake(watch);
    return e;
}

void watch_drain(struct watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->draining = true;
    pthread_mutex_unlock(&watch->mutex);
    wake(watch);
}

void watch_stop(struct watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->stopping = true;
    pthread_mutex_unlock(&watch->mutex);
    wake(watch);
    pthread_join(watch->thread, NULL);
    db_free(watch->db);
    close(watch->wake_fd);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}
