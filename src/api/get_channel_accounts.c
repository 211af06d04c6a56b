/* GET /v1/channel-accounts?state=&limit=&after=: the accounts, a page at a time. Seeds are never returned,
 * not even sealed ones, and no leases of other clients. */
#include <stdio.h>

#include "base/mem.h"
#include "base/text.h"
#include "db_endpoint.h"
#include "pool/account_read.h"

#define LIMIT_DEFAULT 100

struct page_query {
    struct db_query query; /* first */
    bool all;              /* no state was given: all accounts but retired ones */
    enum account_status status;
    char after[ADDRESS_SIZE];
    size_t limit;
};

static json_t *account_json(const struct account_shown *account)
{
    json_t *object = json_pack(
        "{s:s, s:s}", "publicKey", account->public_key, "state", account_status_name(account->status));
    if (account->reason[0] != '\0')
        json_object_set_new(object, "reason", json_string(account->reason));
    if (account->sequence_ledger >= 0) {
        json_object_set_new(object, "sequence", api_json_decimal(account->sequence));
        json_object_set_new(object, "sequenceLedger", json_integer(account->sequence_ledger));
    }
    if (account->lease_shown)
        json_object_set_new(object, "lease",
            json_pack("{s:o, s:o}", "hash", api_json_hash(&account->lease_hash), "maxTime",
                api_json_decimal(account->lease_max_time_s)));
    return object;
}

/* One account more than the limit was read, to see whether there is a next page. */
static json_t *page_json(const struct account_shown accounts[], size_t count, size_t limit)
{
    size_t shown = count > limit ? limit : count;
    json_t *items = json_array(), *page = json_pack("{s:o}", "items", items);
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(items, account_json(&accounts[i]));
    if (count > limit)
        json_object_set_new(page, "next", json_string(accounts[shown - 1].public_key));
    return page;
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    const struct page_query *page = (struct page_query *)query;
    struct account_shown *accounts AUTO_FREE = NEW_ARRAY(page->limit + 1, struct account_shown);
    size_t count;
    enum err e = account_read_page(db, page->all ? NULL : &page->status, api_client(query->http), page->after,
        page->limit + 1, accounts, &count, detail);
    if (e == ERR_OK)
        reply->body = page_json(accounts, count, page->limit);
    return e;
}

static enum err read_status(const char *text, struct page_query *page, struct detail *detail)
{
    page->all = text == NULL;
    if (text != NULL && account_status_parse(text, &page->status) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST, "state must be " ACCOUNT_STATUS_NAMES ".");
    return ERR_OK;
}

static enum err read_request(struct db_query *query, struct detail *detail)
{
    struct page_query *page = (struct page_query *)query;
    const char *limit = http_query(query->http, "limit"), *after = http_query(query->http, "after");
    uint64_t count = LIMIT_DEFAULT;
    struct public_key key;
    if (limit != NULL && (text_to_u64(limit, ACCOUNT_PAGE_MAX, &count) != ERR_OK || count == 0))
        return detail_set(
            detail, ERR_INVALID_REQUEST, "limit must be a whole number from 1 to %d.", ACCOUNT_PAGE_MAX);
    if (after != NULL && address_decode(after, &key) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "after must be an account's address (G...), such as next of the page before.");
    page->limit = (size_t)count;
    snprintf(page->after, sizeof page->after, "%s", after != NULL ? after : "");
    return read_status(http_query(query->http, "state"), page, detail);
}

void api_get_channel_accounts(struct http_request *request, void *api)
{
    static const struct db_endpoint endpoint = {
        .query_size = sizeof(struct page_query), .read = read_request, .run = run};
    db_endpoint_begin(request, api, &endpoint);
}
