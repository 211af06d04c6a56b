/* What a request with ?wait= takes while it waits for a ledger: a share of the connections, and one of its
 * client's waits. */
#ifndef FAIRWAY_API_WAIT_H
#define FAIRWAY_API_WAIT_H

#include "context.h"

struct api_wait {
    bool shares;              /* has a share of the connections */
    struct client_load *load; /* of its client, among whose waits it is counted; NULL: it is not */
    enum limit limit;         /* that has refused it */
};

/* Reads the request's wait and takes both, unless it is 0. Sets the end of the wait (clock_ms()). *wait is
 * zeroed before. On an error some may have been taken: end it all the same. */
MUST_CHECK enum err api_wait_begin(struct api_wait *wait, struct api *api, const struct http_request *request,
    int64_t *deadline_ms, struct detail *detail);
/* Call it before the reply. */
void api_wait_end(const struct api_wait *wait, struct api *api);

#endif
