/* Calls functions at intervals. Knows no deadline: each function does. */
#include "base/ticker.h"

#include <pthread.h>
#include <stdbool.h>
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

static void *tick(void *unused)
{
    (void)unused;
    for (;;) {
        clock_sleep_ms(TICK_MS);
        pthread_mutex_lock(&mutex);
        for (size_t i = 0; i < count; i++)
            entries[i].fn(entries[i].context);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

void ticker_add(ticker_fn fn, void *context)
{
    pthread_t thread;
    pthread_mutex_lock(&mutex);
    entries = mem_grow(entries, count + 1, sizeof entries[0]);
    entries[count].fn = fn;
    entries[count++].context = context;
    if (!started)
        thread_start(&thread, tick, NULL);
    started = true;
    pthread_mutex_unlock(&mutex);
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
