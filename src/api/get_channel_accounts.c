/* GET /v1/channel-accounts?state=&limit=&after=: the accounts, a page at a time. Seeds are never returned,
 * not even sealed ones, and no leases of other clients. */
#include "base/mem.h"
#include "base/text.h"
#include "db_endpoint.h"
#include "pool/account_read.h"

struct page {
    const char *state, *after; /* state NULL: all accounts but retired ones; after "": from the first on */
    size_t limit;
};

static void write_account(struct json_write *out, const struct account_shown *account)
{
    json_write_open(out, NULL, '{');
    json_write_text(out, "publicKey", account->public_key);
    json_write_text(out, "state", account->state);
    if (account->reason[0] != '\0')
        json_write_text(out, "reason", account->reason);
    if (account->sequence_ledger >= 0) {
        json_write_decimal(out, "sequence", account->sequence);
        json_write_number(out, "sequenceLedger", account->sequence_ledger);
    }
    if (account->lease_shown) {
        json_write_open(out, "lease", '{');
        api_write_hash(out, "hash", &account->lease_hash);
        json_write_decimal(out, "maxTime", account->lease_max_time_s);
        json_write_close(out, '}');
    }
    json_write_close(out, '}');
}

/* One account more than the limit was read, to see whether there is a next page. */
static char *page_text(const struct account_shown accounts[], size_t count, size_t limit)
{
    const size_t shown = count > limit ? limit : count;
    struct json_write out = {0};
    json_write_begin(&out, 64 + 200 * shown);
    json_write_open(&out, "items", '[');
    for (size_t i = 0; i < shown; i++)
        write_account(&out, &accounts[i]);
    json_write_close(&out, ']');
    if (count > limit)
        json_write_text(&out, "next", accounts[shown - 1].public_key);
    return json_write_end(&out);
}

static enum err read_request(const struct http_request *http, struct page *page, struct detail *detail)
{
    static const char *const states[] = {"idle", "leased", "creating", "retiring", "quarantined", "retired"};
    const char *after = http_query(http, "after"), *state = http_query(http, "state");
    struct public_key key;
    enum err e = api_read_limit(http, ACCOUNT_PAGE_MAX, &page->limit, detail);
    if (e != ERR_OK)
        return e;
    if (after != NULL && address_decode(after, &key) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "after must be an account's address (G...), such as next of the page before.");
    page->after = after != NULL ? after : "";
    for (size_t i = 0; state != NULL && i < ARRAY_LEN(states); i++)
        if (text_equal(state, states[i]))
            page->state = states[i];
    if (state != NULL && page->state == NULL)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "state must be idle, leased, creating, retiring, quarantined or retired.");
    return ERR_OK;
}

static enum err run(struct db_query *query, struct db *db, struct db_reply *reply, struct detail *detail)
{
    struct page page = {0};
    size_t count;
    enum err e = read_request(query->http, &page, detail);
    if (e != ERR_OK)
        return e;
    struct account_shown *accounts AUTO_FREE = NEW_ARRAY(page.limit + 1, struct account_shown);
    e = account_read_page(
        db, page.state, api_client(query->http), page.after, page.limit + 1, accounts, &count, detail);
    if (e == ERR_OK)
        reply->text = page_text(accounts, count, page.limit);
    return e;
}

void api_get_channel_accounts(struct http_request *request, void *api)
{
    db_endpoint_begin(request, api, run);
}
