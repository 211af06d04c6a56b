/* Keeps the last report of a probe, which is made at most so often, whoever asks. */
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
    last->fresh_until_ms = last->set_ms + fresh_ms;
    last->status = status;
    last->text = text == NULL ? NULL : mem_copy_text(text);
    pthread_mutex_unlock(&last->mutex);
}

char *last_report_get(struct last_report *last, unsigned each_second, int *status)
{
    char *text = NULL;
    pthread_mutex_lock(&last->mutex);
    const bool fresh = clock_ms() < last->fresh_until_ms;
    if ((fresh || !rate_limit_allows(&last->reports, each_second, 1000, NULL)) && last->text != NULL &&
        clock_ms() - last->set_ms <= REPORT_AGE_MS) {
        text = mem_copy_text(last->text);
        *status = last->status;
    }
    pthread_mutex_unlock(&last->mutex);
    return text;
}
