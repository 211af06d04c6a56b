/* One log line for each request that has ended, and the counts of requests. */
#ifndef FAIRWAY_HTTP_REQUEST_LOG_H
#define FAIRWAY_HTTP_REQUEST_LOG_H

#include "request.h"

/*
 * Counts the request and logs it: 5xx at level warn, 4xx at info, all else at debug. A code is logged at most
 * 20 times in ten seconds, except at debug; not_logged counts what was left out before the line. sent: the
 * reply was sent whole.
 */
void request_log(const struct http_request *request, bool sent);

#endif
