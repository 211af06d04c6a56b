/*
 * The last report of /readyz. Anyone may ask for one, and the checks use the database: so only some requests
 * a second run them, and the others get the last report. The functions may be called from any thread.
 */
#ifndef FAIRWAY_API_LAST_REPORT_H
#define FAIRWAY_API_LAST_REPORT_H

#include <pthread.h>

#include "base/rate_limit.h"

#define CHECKS_EACH_SECOND 10 /* the default */

struct last_report {
    pthread_mutex_t mutex; /* guards what follows */
    struct rate_limit checks;
    int status;
    char *text; /* NULL: none yet */
};

void last_report_init(struct last_report *last);
void last_report_free(struct last_report *last);

/* Takes over text, which is terminated and from malloc. */
void last_report_set(struct last_report *last, int status, char *text);
/*
 * Returns NULL when the request is to run the checks, which happens at most each_second times a second once
 * there is a report; else a copy of the last one, which the caller frees, and its status.
 */
char *last_report_get(struct last_report *last, unsigned each_second, int *status);

#endif
