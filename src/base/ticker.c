/* Calls functions at intervals. Knows no deadline: each function does. */
#include "base/ticker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define TICK_MS 50

/* The mutex is held while functions run. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    ticker_fn fn;
    void *context;
} * entries;
static size_t count;
static bool started;

static atomic_bool resting; /* nothing is watched, so far as is known */
static pthread_mutex_t resting_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

/* It rests before the functions look: who adds something afterwards wakes it. */
static void *tick(void *unused)
{
    (void)unused;
    for (;;) {
        clock_sleep_ms(TICK_MS);
        bool watches = false;
        atomic_store(&resting, true);
        pthread_mutex_lock(&mutex);
        for (size_t i = 0; i < count; i++)
            watches |= entries[i].fn(entries[i].context);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&resting_mutex);
        while (!watches && atomic_load(&resting))
            pthread_cond_wait(&woken, &resting_mutex);
        pthread_mutex_unlock(&resting_mutex);
    }
    return NULL;
}

void ticker_wake(void)
{
    if (!atomic_exchange(&resting, false))
        return;
    pthread_mutex_lock(&resting_mutex);
    pthread_cond_signal(&woken);
    pthread_mutex_unlock(&resting_mutex);
}

void ticker_add(ticker_fn fn, void *context)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    entries = mem_grow(entries, count + 1, sizeof entries[0]);
    entries[count].fn = fn;
    entries[count++].context = context;
    if (!started)
        thread_start(&thread, "ticker", tick, NULL);
    started = true;
    pthread_mutex_unlock(&mutex);
    ticker_wake();
}

void ticker_remove(void *context)
{
    pthread_mutex_lock(&mutex);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (entries[i].context != context)
            entries[kept++] = entries[i];
    count = kept;
    pthread_mutex_unlock(&mutex);
}
