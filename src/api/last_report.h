/*
 * The last report of /readyz or of /v1/pool, which read the database: so only some requests a second do that,
 * and the others get the last report. The functions may be called from any thread.
 */
#pragma once

#include <pthread.h>

#include "base/rate_limit.h"

#define REPORTS_EACH_SECOND 10 /* the default */

struct last_report {
    pthread_mutex_t mutex; /* guards what follows */
    struct rate_limit reports;
    int64_t set_ms, fresh_until_ms;
    int status;
    char *text; /* NULL: none */
};

void last_report_init(struct last_report *last);
void last_report_free(struct last_report *last);

/* Keeps a copy of the text, which all requests get for fresh_ms; NULL: there is no report any more. */
void last_report_set(struct last_report *last, int status, const char *text, int64_t fresh_ms);
/*
 * Returns NULL when the request is to make a new report, which happens at most each_second times a second
 * while there is one; else a copy of the last one, which the caller frees, and its status.
 */
char *last_report_get(struct last_report *last, unsigned each_second, int *status);
