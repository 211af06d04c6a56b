/*
 * The last report of /readyz or of /v1/pool, which read the database. One request at a time makes another,
 * ten times a second at most. The others get the last one, so a database that hangs costs one worker, however
 * many ask; but a report older than REPORT_AGE_MS is not shown, and then each request reads. The functions
 * may be called from any thread.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

struct last_report {
    pthread_mutex_t mutex; /* guards what follows */
    int64_t set_ms, fresh_until_ms;
    int status;
    char *text; /* NULL: none */
};

void last_report_init(struct last_report *last);
void last_report_free(struct last_report *last);

/* Keeps a copy of the text, which all requests get for fresh_ms. */
void last_report_set(struct last_report *last, int status, const char *text, int64_t fresh_ms);
/* Returns NULL when the request is to make a new report; else a copy of the last one, which the caller frees,
 * and its status. */
char *last_report_get(struct last_report *last, int *status);
