/*
 * The last report of /readyz or of /v1/pool, which read the database: one request at a time makes another,
 * ten times a second at most, and the others get the last one. So a database that hangs costs each of them
 * one worker, however many ask, while there is a report that is not too old: /v1/pool makes none then, and
 * after REPORT_AGE_MS each request reads. The functions may be called from any thread.
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
