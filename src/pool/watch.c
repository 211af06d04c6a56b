#include "pool/watch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/settle.h"
#include "status_row.h"

/* How often hang-ups are looked for while anyone waits, and how long a missed NOTIFY can cost. */
#define SWEEP_MS 100
#define SLOW_POLL_MS 1000

struct watch {
    pthread_t thread;
    struct db *db;
    int wake_fd;
    pthread_mutex_t mutex; /* guards what follows */
    struct watch_ticket *arrived;
    size_t count; /* arrived or waiting */
    bool stopping;
};

static void answer(struct watch *watch, struct watch_ticket *ticket, enum err e)
{
    pthread_mutex_lock(&watch->mutex);
    watch->count--;
    pthread_mutex_unlock(&watch->mutex);
    ticket->error = e;
    ticket->done(ticket);
}

/* Hashes may be of fee bumps; ordinal tells whose row it is. */
static const char sql_watched[] = "SELECT " LEASE_STATUS_COLUMNS ", n.ordinal - 1, l.client"
                                  " FROM unnest($1::bytea[]) WITH ORDINALITY AS n (hash, ordinal)"
                                  " LEFT JOIN fairway.fee_bumps b ON b.hash = n.hash"
                                  " JOIN fairway.leases l ON l.hash = coalesce(b.lease_hash, n.hash)"
                                  " LEFT JOIN fairway.ledgers g ON g.sequence = l.ledger";

static bool has_status(const struct watch_ticket *ticket)
{
    return ticket->status.status[0] != '\0';
}

/* One query for all; what it does not find is unknown to this client. */
static enum err look(struct db *db, struct watch_ticket *const tickets[], size_t count)
{
    struct bytes *hashes AUTO_FREE = NEW_ARRAY(count, struct bytes);
    AUTO_ROWS rows = NULL;
    struct detail detail = {0};
    for (size_t i = 0; i < count; i++)
        hashes[i] = BYTES_OF(tickets[i]->hash.bytes);
    enum err e = db_query(db, DB_SQL(sql_watched, DB_BYTEAS(hashes, count)), &rows, &detail);
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        tickets[i]->error = ERR_TRANSACTION_NOT_FOUND;
    for (size_t row = 0; e == ERR_OK && row < db_count(rows); row++) {
        struct watch_ticket *ticket = tickets[db_i64(rows, row, LEASE_STATUS_COLUMN_COUNT)];
        if (strcmp(db_text(rows, row, LEASE_STATUS_COLUMN_COUNT + 1), ticket->client) == 0)
            ticket->error = e = lease_status_row(rows, row, &ticket->status);
    }
    if (e != ERR_OK)
        log_debug("waiting transactions not looked up", "detail=\"%s\"", detail.text);
    return e;
}

/* Whether the ticket is to be answered now, and with what. */
static bool is_over(struct watch_ticket *ticket, bool looked, int64_t now_ms, enum err *e)
{
    bool ended = has_status(ticket) && strcmp(ticket->status.status, "pending") != 0;
    *e = ERR_OK;
    if (looked && ticket->error != ERR_OK)
        *e = ticket->error;
    else if (ticket->gone(ticket))
        *e = ERR_CANCELLED;
    else if (!ended && now_ms < ticket->deadline_ms)
        return false;
    else if (!has_status(ticket))
        *e = ERR_DATABASE_UNAVAILABLE;
    return true;
}

/* The thread's own list. */
struct waiting {
    struct watch_ticket **tickets;
    size_t count, room;
};

/* Takes in what has arrived; true: there was something. */
static bool take_arrived(struct watch *watch, struct waiting *waiting, bool *stopping)
{
    pthread_mutex_lock(&watch->mutex);
    struct watch_ticket *ticket = watch->arrived;
    watch->arrived = NULL;
    *stopping = watch->stopping;
    pthread_mutex_unlock(&watch->mutex);
    bool any = ticket != NULL;
    for (struct watch_ticket *next; ticket != NULL; ticket = next) {
        next = ticket->next;
        if (waiting->count == waiting->room) {
            waiting->room = waiting->room == 0 ? 64 : waiting->room * 2;
            waiting->tickets = mem_grow(waiting->tickets, waiting->room, sizeof waiting->tickets[0]);
        }
        waiting->tickets[waiting->count++] = ticket;
    }
    return any;
}

static void answer_all(struct watch *watch, struct waiting *waiting, bool looked, bool stopping)
{
    int64_t now_ms = clock_ms();
    size_t kept = 0;
    for (size_t i = 0; i < waiting->count; i++) {
        enum err e = ERR_SHUTTING_DOWN;
        if (stopping || is_over(waiting->tickets[i], looked, now_ms, &e))
            answer(watch, waiting->tickets[i], e);
        else
            waiting->tickets[kept++] = waiting->tickets[i];
    }
    waiting->count = kept;
}

static void *run(void *context)
{
    struct watch *watch = context;
    struct waiting waiting = {0};
    int64_t next_look_ms = 0;
    for (bool stopping = false; !stopping;) {
        struct detail detail = {0};
        eventfd_t drained;
        bool notified = false;
        if (db_listen(watch->db, POOL_CHANNEL, &detail) != ERR_OK ||
            db_wait_notify(watch->db, waiting.count > 0 ? SWEEP_MS : SLOW_POLL_MS, watch->wake_fd, &notified,
                &detail) != ERR_OK)
            clock_sleep_ms(SWEEP_MS);
        (void)!eventfd_read(watch->wake_fd, &drained);
        bool arrived = take_arrived(watch, &waiting, &stopping);
        bool due = arrived || notified || clock_ms() >= next_look_ms, looked = false;
        if (due && waiting.count > 0 && !stopping) {
            looked = look(watch->db, waiting.tickets, waiting.count) == ERR_OK;
            next_look_ms = clock_ms() + SLOW_POLL_MS;
        }
        answer_all(watch, &waiting, looked, stopping);
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
        log_fatal(71, "cannot create a thread", NULL);
    *out = watch;
    return ERR_OK;
}

enum err watch_submit(struct watch *watch, struct watch_ticket *ticket)
{
    pthread_mutex_lock(&watch->mutex);
    enum err e = watch->stopping ? ERR_SHUTTING_DOWN : watch->count >= WATCH_MAX ? ERR_OVERLOADED : ERR_OK;
    if (e == ERR_OK) {
        ticket->error = ERR_OK;
        ticket->status = (struct lease_status){0};
        ticket->next = watch->arrived;
        watch->arrived = ticket;
        watch->count++;
    }
    pthread_mutex_unlock(&watch->mutex);
    if (e == ERR_OK && eventfd_write(watch->wake_fd, 1) != 0)
        log_error("eventfd_write failed", NULL);
    return e;
}

void watch_stop(struct watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->stopping = true;
    pthread_mutex_unlock(&watch->mutex);
    if (eventfd_write(watch->wake_fd, 1) != 0)
        log_error("eventfd_write failed", NULL);
    pthread_join(watch->thread, NULL);
    db_free(watch->db);
    close(watch->wake_fd);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}
