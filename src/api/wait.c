/* Counts the requests that wait for a ledger. They are answered elsewhere. */
#include "wait.h"

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/text.h"
#include "reply.h"

static enum err take_client_wait(
    struct api_wait *wait, struct api *api, const struct http_request *request, struct detail *detail)
{
    const struct api_sender *sender = http_kept(request);
    const struct limits *limits = api_limits(request);
    if (sender == NULL) /* AUTH=none */
        return ERR_OK;
    wait->limit = client_loads_begin_wait(&api->loads, sender->load, limits);
    if (wait->limit == LIMIT_NONE)
        wait->load = sender->load;
    return limit_refuse(wait->limit, limits, detail);
}

enum err api_wait_begin(struct api_wait *wait, struct api *api, const struct http_request *request,
    int64_t *deadline_ms, struct detail *detail)
{
    const char *text = http_query(request, "wait");
    uint64_t wait_s = 0;
    if (text != NULL && text_to_u64(text, TRANSACTION_WAIT_MAX_S, &wait_s) != ERR_OK)
        return detail_set(
            detail, ERR_INVALID_REQUEST, "wait must be whole seconds from 0 to %d.", TRANSACTION_WAIT_MAX_S);
    *deadline_ms = clock_ms() + (int64_t)wait_s * 1000;
    if (wait_s == 0)
        return ERR_OK;
    enum err e = take_client_wait(wait, api, request, detail);
    if (e == ERR_OK)
        e = connection_shares_take(&api->shares, SHARE_WAIT);
    wait->shares = e == ERR_OK;
    return e;
}

void api_wait_end(const struct api_wait *wait, struct api *api)
{
    if (wait->shares)
        connection_shares_give(&api->shares, SHARE_WAIT);
    if (wait->load != NULL)
        client_loads_end_wait(&api->loads, wait->load);
}
