/* GET /v1/channel-accounts?state=&limit=&after=: the accounts, a page at a time. Never a seed, sealed or not.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "db_endpoint.h"

#define LIMIT_DEFAULT 100

struct page_question {
    struct db_query question; /* first */
    const char *state;        /* NULL: all but retired */
    char after[ADDRESS_SIZE];
    size_t limit;
};

static json_t *account_json(const struct account_status *account)
{
    json_t *object = json_pack("{s:s, s:s}", "publicKey", account->public_key, "state", account->state);
    if (account->reason[0] != '\0')
        json_object_set_new(object, "reason", json_string(account->reason));
    if (account->sequence_ledger >= 0) {
        json_object_set_new(object, "sequence", json_decimal(account->sequence));
        json_object_set_new(object, "sequenceLedger", json_integer(account->sequence_ledger));
    }
    if (account->leased)
        json_object_set_new(object, "lease",
            json_pack("{s:o, s:o}", "hash", json_hash(&account->lease_hash), "maxTime",
                json_decimal(account->lease_max_time_s)));
    return object;
}

/* One account more than asked for was read: whether there is a next page. */
static json_t *page_json(const struct account_status accounts[], size_t count, size_t limit)
{
    size_t shown = count > limit ? limit : count;
    json_t *items = json_array(), *page = json_pack("{s:o}", "items", items);
    for (size_t i = 0; i < shown; i++)
        json_array_append_new(items, account_json(&accounts[i]));
    if (count > limit)
        json_object_set_new(page, "next", json_string(accounts[shown - 1].public_key));
    return page;
}

static enum err ask(struct db_query *question, struct db *db, struct answer *answer, struct detail *detail)
{
    const struct page_question *page = (struct page_question *)question;
    struct account_status *accounts AUTO_FREE = NEW_ARRAY(page->limit + 1, struct account_status);
    size_t count;
    enum err e = account_page(db, page->state, page->after, page->limit + 1, accounts, &count, detail);
    if (e == ERR_OK)
        answer->body = page_json(accounts, count, page->limit);
    return e;
}

static enum err read_state(const char *text, const char **state, struct detail *detail)
{
    static const char *const states[] = {"idle", "leased", "creating", "retiring", "retired", "quarantined"};
    *state = NULL;
    if (text == NULL)
        return ERR_OK;
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (strcmp(text, states[i]) == 0)
            *state = states[i];
    if (*state == NULL)
        return detail_set(detail, ERR_INVALID_REQUEST,
            "state must be idle, leased, creating, retiring, retired or quarantined.");
    return ERR_OK;
}

static enum err read_request(struct db_query *question, struct detail *detail)
{
    struct page_question *page = (struct page_question *)question;
    const char *limit = http_query(question->http, "limit"), *after = http_query(question->http, "after");
    uint64_t count = LIMIT_DEFAULT;
    struct public_key key;
    if (limit != NULL && (text_to_u64(limit, ACCOUNT_PAGE_MAX, &count) != ERR_OK || count == 0))
        return detail_set(
            detail, ERR_INVALID_REQUEST, "limit must be a whole number from 1 to %d.", ACCOUNT_PAGE_MAX);
    if (after != NULL && address_decode(after, &key) != ERR_OK)
        return detail_set(detail, ERR_INVALID_REQUEST, "after must be an account (G...).");
    page->limit = (size_t)count;
    snprintf(page->after, sizeof page->after, "%s", after != NULL ? after : "");
    return read_state(http_query(question->http, "state"), &page->state, detail);
}

void get_channel_accounts(struct http_request *request, void *api)
{
    static const struct db_endpoint kind = {.answer_ms = DB_ENDPOINT_READ_MS,
        .size = sizeof(struct page_question),
        .read = read_request,
        .ask = ask};
    db_endpoint_begin(request, api, &kind);
}
