/* A batch of grants, from claim to COMMIT: which request gets which account, and what becomes of it. Nothing
 * is leased unless the whole transaction commits. */
#include "grant/grant.h"

#include <stdio.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rate_limit.h"
#include "stellar/envelope_build.h"
#include "grant_claim.h"
#include "grant_record.h"
#include "signing.h"

static void refuse(struct grant *grant, enum err e, const struct detail *detail)
{
    grant->state = GRANT_REFUSED;
    grant->error = e;
    grant->detail = *detail;
}

/* The accounts that a batch's requests name, in the order of the grants. */
static struct public_key *named_accounts(struct grant *const grants[], size_t count, size_t *total)
{
    *total = 0;
    for (size_t i = 0; i < count; i++)
        *total += grants[i]->request->named.count;
    struct public_key *keys = NEW_ARRAY(*total, struct public_key), *at = keys;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < grants[i]->request->named.count; k++)
            *at++ = grants[i]->request->named.keys[k];
    return keys;
}

/* The account and the unsigned transaction of one grant. */
struct draft {
    struct grant *grant;
    size_t place; /* of the grant in the batch */
    const struct account_source *account;
    struct buf transaction;
};

/* Whether the request can be granted now, with any account. */
static enum err check_request(const struct lease_request *request, const struct grant_settings *settings,
    const struct grant_terms *terms, struct transaction_head *head, struct detail *detail)
{
    *head = (struct transaction_head){0};
    if (request->refusal != ERR_OK) {
        *detail = request->refusal_detail;
        return request->refusal;
    }
    enum err e = policy_fee(&request->envelope, &settings->limits, &head->fee_stroops, detail);
    if (e == ERR_OK)
        e = funds_check_lease(terms->spendable_stroops, &settings->funds, detail);
    if (e == ERR_OK && request->authorization.expires_ledger != 0)
        e = policy_check_expiry(request->authorization.expires_ledger, (uint32_t)terms->time.ledger, detail);
    if (e == ERR_OK)
        e = policy_max_time(&request->envelope.preconditions, terms->time.now_s, request->timeout_s,
            terms->time.ledger, &head->max_time_s, detail);
    return e;
}

static struct draft draft_of(
    struct grant *grant, size_t place, const struct account_source *account, struct transaction_head *head)
{
    struct draft draft = {.grant = grant, .place = place, .account = account};
    struct lease *lease = &grant->lease;
    head->source = account->key;
    head->sequence = account->sequence + 1;
    transaction_build(&grant->request->envelope, head, &draft.transaction);
    lease->account = head->source;
    lease->sequence = head->sequence;
    lease->sequence_ledger = account->sequence_ledger;
    lease->max_time_s = head->max_time_s;
    lease->first = true;
    snprintf(lease->status, sizeof lease->status, "pending");
    return draft;
}

/* The first of the accounts named by grant i that is in the pool; NULL: none. members has the named accounts
 * of all grants, in their order; *at moves past those of grant i. */
static const struct public_key *pool_account_named(
    struct grant *const grants[], size_t i, const bool members[], size_t *at)
{
    const struct named_accounts *named = &grants[i]->request->named;
    const struct public_key *account = NULL;
    for (size_t k = 0; k < named->count; k++)
        if (members[(*at)++] && account == NULL)
            account = &named->keys[k];
    return account;
}

/* Checks each grant, and assigns the accounts in order to those that stay open. Returns the count of drafts.
 */
static size_t draft_all(struct draft drafts[], struct grant *const grants[], size_t count,
    const struct grant_claim *claim, const struct grant_settings *settings)
{
    size_t made = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        struct detail detail = {0};
        struct transaction_head head;
        const struct public_key *named = pool_account_named(grants, i, claim->members, &at);
        if (!idempotency_decide(claim->keys, grants, i) || lease_claims_decide(claim->claims, i))
            continue;
        const struct lease_request *request = grants[i]->request;
        enum err e = named != NULL ? policy_refuse_account(&settings->limits, named, &detail)
                                   : check_request(request, settings, &claim->terms, &head, &detail);
        if (e == ERR_OK && request->submits)
            e = lease_bids_choose(claim->bids, i, grants[i], &settings->limits, head.fee_stroops,
                claim->terms.spendable_stroops, &detail);
        if (e == ERR_OK) {
            grants[i]->limit = usage_refuses(claim->usage, i);
            e = limit_refuse(grants[i]->limit, &request->limits, &detail);
        }
        if (e != ERR_OK)
            refuse(grants[i], e, &detail);
        else if (made < claim->claimed && lease_claims_conflict(claim->claims, i))
            grants[i]->open = OPEN_KEY_LOCKED;
        else if (made < claim->claimed) {
            drafts[made] = draft_of(grants[i], i, &claim->accounts[made], &head);
            usage_take(claim->usage, i);
            lease_bids_take(claim->bids, i, grants[i]->lease.bid_stroops);
            grants[i]->lease.sent_ledger = claim->terms.time.ledger;
            made++;
        }
    }
    return made;
}

/* The result of signing: leases to record, and accounts that must not be chosen again. */
struct signing_result {
    struct grant_record_item items[GRANT_BATCH_MAX];
    struct public_key faults[GRANT_BATCH_MAX];
    size_t count, fault_count;
};

/* keyd's clock and budget are for the operator to correct. Any other refusal is a fault of this program,
 * which has checked the same rules. */
static void log_refusal(const char *request_id, enum err e)
{
    static struct rate_limit limits[ERR_COUNT];
    unsigned not_logged;
    if (rate_limit_line(&limits[e], &not_logged))
        log_line(e == ERR_KEYD_CLOCK || e == ERR_KEYD_BUDGET ? LOG_WARN : LOG_ERROR,
            "lease refused by the key process", "request_id=%s error=%s reason=\"%s\" not_logged=%u",
            request_id, err_code(e), err_text(e), not_logged);
}

/*
 * Signs all drafts with one message to keyd. When a seed does not open, the account is quarantined and the
 * grant stays open. When keyd refuses for another reason, the grant is refused.
 */
static enum err sign_all(struct keyd *keyd, const struct grant_claim *claim, int64_t deadline_ms,
    struct draft *drafts, size_t count, struct signing_result *result, struct detail *detail)
{
    struct lease_signing signings[GRANT_BATCH_MAX];
    for (size_t i = 0; i < count; i++)
        signings[i] = (struct lease_signing){.transaction = buf_bytes(&drafts[i].transaction),
            .signer = drafts[i].account->key,
            .sealed = drafts[i].account->sealed,
            .bid_fee_stroops = drafts[i].grant->lease.bid_stroops,
            .bid_envelope = &drafts[i].grant->lease.bid};
    enum err e =
        count > 0 ? keyd_sign_leases(keyd, claim->terms.time.now_s, deadline_ms, signings, count) : ERR_OK;
    if (e != ERR_OK)
        return detail_set(detail, e, "the key process does not answer");
    for (size_t i = 0; i < count; i++) {
        struct grant *grant = drafts[i].grant;
        if (signings[i].result == ERR_SEAL_BROKEN) {
            grant->open = OPEN_BROKEN_SEED;
            result->faults[result->fault_count++] = drafts[i].account->key;
            continue;
        }
        if (signings[i].result != ERR_OK) {
            log_refusal(grant->request->request_id, signings[i].result);
            refuse(grant, signings[i].result,
                &(struct detail){"The key process refused to sign the transaction."});
            continue;
        }
        grant->lease.hash = signings[i].hash;
        grant->lease.bid_hash = signings[i].bid_hash;
        envelope_build(
            signings[i].transaction, &signings[i].signer, &signings[i].signature, 1, &grant->lease.envelope);
        result->items[result->count] = (struct grant_record_item){.grant = grant,
            .open_max = usage_most(claim->usage->of_client[drafts[i].place]),
            .contract_max = usage_most(claim->usage->of_contract[drafts[i].place])};
        lease_claims_place(claim->claims, drafts[i].place, ++result->count);
    }
    return ERR_OK;
}

/* Nothing of the batch was committed. Refused grants are checked again with the next batch: the pool may have
 * changed by then. */
static void reopen(struct grant *const grants[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lease_wipe(&grants[i]->lease);
        grants[i]->state = GRANT_OPEN;
        grants[i]->open = OPEN_NO_ACCOUNT;
        grants[i]->limit = LIMIT_NONE;
        grants[i]->is_of_another = grants[i]->is_unsent = false;
    }
}

/* No lease is new. Leases that repeated requests found must be durable before they are handed out. */
static enum err end_without_leases(struct db *db, const struct grant_claim *claim, struct detail *detail)
{
    enum err e = ERR_OK;
    if (claim->keys->any_found || claim->claims->any_found)
        e = db_commit_durably(db, detail);
    else
        e = grant_record_waiting(db, claim->batch, detail);
    db_rollback(db);
    return e;
}

/* Requests of this replica that wait on, when so many of the batch get a new lease. */
static size_t left_waiting(const struct grant_claim *claim, size_t granted)
{
    const struct grant_batch *batch = claim->batch;
    if (batch->idle < 0 && claim->claimed == claim->wanted)
        return 0; /* there may be accounts for the queued requests too */
    size_t left = batch->queued + batch->count - granted;
    for (size_t i = 0; i < batch->count; i++)
        left -= batch->grants[i]->state != GRANT_OPEN;
    return left;
}

static enum err sign_and_record(struct db *db, struct keyd *keyd, const struct grant_claim *claim,
    struct draft drafts[], size_t count, struct detail *detail)
{
    struct signing_result *result AUTO_FREE = NEW(struct signing_result);
    enum err e = sign_all(keyd, claim, signing_deadline_ms(db), drafts, count, result, detail);
    if (e != ERR_OK) {
        db_rollback(db);
        return e;
    }
    claim->batch->locked_unused = claim->claimed > result->count + result->fault_count;
    claim->batch->left = left_waiting(claim, result->count);
    if (result->count + result->fault_count == 0)
        return end_without_leases(db, claim, detail);
    const struct grant_record record = {.batch = claim->batch,
        .transaction_id = claim->terms.transaction_id,
        .items = result->items,
        .count = result->count,
        .claims = claim->claims,
        .faults = result->faults,
        .fault_count = result->fault_count};
    e = grant_record_commit(db, &record, detail);
    if (e != ERR_OK) {
        db_rollback(db);
        return e;
    }
    for (size_t i = 0; i < result->count; i++)
        result->items[i].grant->state = GRANT_DONE;
    return ERR_OK;
}

static enum err grant_claimed(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant_claim *claim, struct detail *detail)
{
    struct grant *const *grants = claim->batch->grants;
    const size_t count = claim->batch->count;
    struct draft *drafts AUTO_FREE = NEW_ARRAY(count, struct draft);
    size_t made = draft_all(drafts, grants, count, claim, settings);
    enum err e = sign_and_record(db, keyd, claim, drafts, made, detail);
    for (size_t i = 0; i < made; i++)
        buf_free(&drafts[i].transaction);
    if (e == ERR_OK)
        idempotency_share(claim->keys, grants, count);
    return e;
}

/* A request that was refused already can only repeat an earlier one: it needs no account. */
static size_t accounts_wanted(const struct grant_batch *batch)
{
    size_t wanted = 0;
    for (size_t i = 0; i < batch->count; i++)
        wanted += batch->grants[i]->request->refusal == ERR_OK;
    return wanted;
}

enum err grant_batch_run(struct db *db, struct keyd *keyd, const struct grant_settings *settings,
    struct grant_batch *batch, struct detail *detail)
{
    struct account_source *accounts AUTO_FREE = NEW_ARRAY(batch->count, struct account_source);
    size_t named_count;
    struct public_key *named_keys AUTO_FREE = named_accounts(batch->grants, batch->count, &named_count);
    struct account_addresses named CLEANUP(account_addresses_free) =
        account_addresses_of(named_keys, named_count);
    bool *members AUTO_FREE = NEW_ARRAY(named_count, bool);
    struct idempotency_keys *keys AUTO_FREE = NEW(struct idempotency_keys);
    struct lease_claims claims CLEANUP(lease_claims_free) = {0};
    struct usage *usage AUTO_FREE = NEW(struct usage);
    struct lease_bids *bids AUTO_FREE = NEW(struct lease_bids);
    struct grant_claim claim = {.settings = settings,
        .batch = batch,
        .wanted = accounts_wanted(batch),
        .named = named.texts,
        .named_count = named_count,
        .keys = keys,
        .claims = &claims,
        .usage = usage,
        .bids = bids,
        .members = members,
        .accounts = accounts};
    batch->locked_unused = false;
    batch->claimed = batch->left = 0;
    batch->idle = -1;
    batch->share = 0;
    reopen(batch->grants, batch->count);
    idempotency_init(keys, batch->grants, batch->count);
    lease_claims_init(&claims, batch->grants, batch->count);
    lease_bids_init(bids, batch->grants, batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        const struct lease_request *request = batch->grants[i]->request;
        usage_add(usage, i, request->client, request->contract, &request->limits);
    }
    enum err e = grant_claim_begin(db, &claim, detail);
    if (e == ERR_OK)
        e = grant_claimed(db, keyd, settings, &claim, detail);
    idempotency_wipe(keys);
    if (e != ERR_OK)
        reopen(batch->grants, batch->count);
    return e;
}
