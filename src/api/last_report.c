/* Keeps the last report of a probe, however many ask. */
#include "last_report.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"

void last_report_init(struct last_report *last)
{
    *last = (struct last_report){0};
    pthread_mutex_init(&last->mutex, NULL);
}

void last_report_free(struct last_report *last)
{
    pthread_mutex_destroy(&last->mutex);
    free(last->text);
}

void last_report_set(struct last_report *last, int status, const char *text, int64_t fresh_ms)
{
    pthread_mutex_lock(&last->mutex);
    free(last->text);
    last->set_ms = clock_ms();
    last->fresh_until_ms = last->set_ms + (fresh_ms > REPORT_FRESH_MS ? fresh_ms : REPORT_FRESH_MS);
    last->status = status;
    last->text = mem_copy_text(text);
    pthread_mutex_unlock(&last->mutex);
}

char *last_report_get(struct last_report *last, int *status)
{
    char *text = NULL;
    pthread_mutex_lock(&last->mutex);
    const int64_t now = clock_ms();
    if (now >= last->fresh_until_ms)
        last->fresh_until_ms = now + (int64_t)2 * DB_ENDPOINT_REPLY_MS; /* this request makes one, or fails */
    else if (last->text != NULL && now - last->set_ms <= REPORT_AGE_MS)
        text = mem_copy_text(last->text);
    *status = last->status;
    pthread_mutex_unlock(&last->mutex);
    return text;
}
