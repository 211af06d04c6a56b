/* Connects on a thread of its own. A caller never waits longer than its deadline. */
#include "attempt.h"

#include <pthread.h>
#include <signal.h>
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
    size_t count;
    char **names, **values; /* count of each, then NULL */
};

static char **copy_texts(const char *const texts[], size_t count)
{
    char **copies = NEW_ARRAY(count + 1, char *);
    for (size_t i = 0; i < count; i++)
        copies[i] = texts[i] == NULL ? NULL : mem_copy_text(texts[i]);
    return copies;
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

static void attempt_free(struct attempt *attempt)
{
    free_texts(attempt->names, attempt->count);
    free_texts(attempt->values, attempt->count);
    pthread_cond_destroy(&attempt->ended);
    pthread_mutex_destroy(&attempt->mutex);
    free(attempt);
}

static void *run(void *context)
{
    struct attempt *attempt = context;
    PGconn *conn =
        PQconnectdbParams((const char *const *)attempt->names, (const char *const *)attempt->values, 1);
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

/* All signals are blocked in the thread: the program's own threads handle them. */
static bool start_detached(struct attempt *attempt)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, run, attempt) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started && pthread_detach(thread) == 0;
}

struct attempt *attempt_start(const char *const names[], const char *const values[], size_t count)
{
    struct attempt *attempt = NEW(struct attempt);
    pthread_mutex_init(&attempt->mutex, NULL);
    thread_cond_init(&attempt->ended);
    attempt->count = count;
    attempt->names = copy_texts(names, count);
    attempt->values = copy_texts(values, count);
    if (start_detached(attempt))
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
