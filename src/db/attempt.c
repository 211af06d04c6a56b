/* Connects on a thread of its own. A caller never waits longer than its deadline. */
#include "attempt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

/* Freed by its thread when it is abandoned before its end, else by the caller. */
struct attempt {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended, abandoned;
    PGconn *conn;
    char *url, *name;
    int timeout_s;
};

static void attempt_free(struct attempt *attempt)
{
    free(attempt->url);
    free(attempt->name);
    pthread_cond_destroy(&attempt->ended);
    pthread_mutex_destroy(&attempt->mutex);
    free(attempt);
}

/* What follows dbname overrides the URL, so no URL can change the timeouts. */
static PGconn *connect_now(const struct attempt *attempt)
{
    char seconds[12];
    snprintf(seconds, sizeof seconds, "%d", attempt->timeout_s);
    const char *const names[] = {"dbname", "application_name", "connect_timeout", "client_encoding",
        "target_session_attrs", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count",
        "tcp_user_timeout", NULL};
    const char *const values[] = {
        attempt->url, attempt->name, seconds, "UTF8", "read-write", "1", "10", "5", "3", "15000", NULL};
    return PQconnectdbParams(names, values, 1);
}

static void *run(void *context)
{
    struct attempt *attempt = context;
    PGconn *conn = connect_now(attempt);
    pthread_mutex_lock(&attempt->mutex);
    attempt->conn = conn;
    attempt->has_ended = true;
    bool abandoned = attempt->abandoned;
    pthread_cond_signal(&attempt->ended);
    pthread_mutex_unlock(&attempt->mutex);
    if (abandoned) {
        PQfinish(conn);
        attempt_free(attempt);
    }
    return NULL;
}

struct attempt *attempt_start(const char *url, const char *name, int timeout_s)
{
    pthread_t thread;
    struct attempt *attempt = NEW(struct attempt);
    pthread_mutex_init(&attempt->mutex, NULL);
    thread_cond_init(&attempt->ended);
    attempt->url = mem_copy_text(url);
    attempt->name = mem_copy_text(name);
    attempt->timeout_s = timeout_s;
    if (thread_try(&thread, run, attempt) == 0 && pthread_detach(thread) == 0)
        return attempt;
    attempt_free(attempt);
    return NULL;
}

bool attempt_wait(struct attempt *attempt, int64_t deadline_ms, PGconn **conn)
{
    const struct timespec deadline = clock_timespec(deadline_ms);
    pthread_mutex_lock(&attempt->mutex);
    while (!attempt->has_ended && clock_left_ms(deadline_ms) > 0)
        pthread_cond_timedwait(&attempt->ended, &attempt->mutex, &deadline);
    bool has_ended = attempt->has_ended;
    *conn = attempt->conn;
    pthread_mutex_unlock(&attempt->mutex);
    if (has_ended)
        attempt_free(attempt);
    return has_ended;
}

void attempt_abandon(struct attempt *attempt)
{
    if (attempt == NULL)
        return;
    pthread_mutex_lock(&attempt->mutex);
    attempt->abandoned = true;
    bool has_ended = attempt->has_ended;
    PGconn *conn = attempt->conn;
    pthread_mutex_unlock(&attempt->mutex);
    if (!has_ended)
        return;
    PQfinish(conn);
    attempt_free(attempt);
}
