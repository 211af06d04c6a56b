/* Runs a batch of fee bumps. Nothing is handed out before its row is committed, and limits are decided in
 * fairway.record_fee_bumps; what they would refuse is not signed. */
#include "grant/bump.h"

#include "base/clock.h"
#include "base/mem.h"
#include "pool/fee_bump.h"
#include "signing.h"

void bump_wipe(struct bump *bump)
{
    buf_free(&bump->envelope);
}

/* The batch in the form that pool/ and keyd take. What has been refused is left out of each next step. */
struct bump_batch {
    struct bump *bumps[BUMP_BATCH_MAX];
    struct fee_bump_item *items[BUMP_BATCH_MAX];
    struct bump_signing signings[BUMP_BATCH_MAX];
    size_t count;
};

static void batch_fill(struct bump_batch *batch, struct bump *const bumps[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct bump_request *request = bumps[i]->request;
        bump_wipe(bumps[i]);
        bumps[i]->state = GRANT_OPEN;
        batch->bumps[i] = bumps[i];
        batch->items[i] = &bumps[i]->item;
        bumps[i]->item = (struct fee_bump_item){.lease = request->inner_hash,
            .source = request->inner.source,
            .sequence = request->inner.sequence,
            .client = request->client,
            .limits = request->client_limits,
            .submits = request->submits,
            .lane = lane_of(&request->inner),
            .replaced = request->raises ? &request->replaced : NULL};
    }
    batch->count = count;
}

/* Refuses the items that have an error, and moves the others to the front, in their order. */
static void batch_drop_refused(struct bump_batch *batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i]->error != ERR_OK) {
            batch->bumps[i]->state = GRANT_REFUSED;
            continue;
        }
        batch->bumps[kept] = batch->bumps[i];
        batch->items[kept++] = batch->items[i];
    }
    batch->count = kept;
}

/* keyd examines the channel account's signature again. */
static enum err check_signatures(enum authority authority, struct detail *detail)
{
    switch (authority) {
    case AUTHORITY_UNSIGNED:
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "The transaction has no signature. Keep the channel account's, which is in the lease's "
            "transactionXdr, and add the user's.");
    case AUTHORITY_CHANNEL_MISSING:
        return detail_set(detail, ERR_CHANNEL_SIGNATURE_MISSING,
            "The channel account's signature is missing or invalid. Keep the one in the lease's "
            "transactionXdr.");
    case AUTHORITY_CHANNEL_ONLY:
        return detail_set(detail, ERR_NO_SIGNATURES_PROVIDED,
            "Only the channel account has signed. The operations' sources and the extra signers must sign "
            "before the fee bump.");
    case AUTHORITY_UNKNOWN:
        return detail_set(detail, ERR_CLIENT_SIGNATURE_INVALID,
            "No signature is valid for an operation's source, for a signer of that account, or for an "
            "extra signer. Sign the lease's transactionXdr for the lease's networkPassphrase.");
    case AUTHORITY_PROVED:
        break;
    }
    return ERR_OK;
}

static void check_all(struct bump_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct fee_bump_item *item = batch->items[i];
        if (item->error != ERR_OK)
            continue;
        item->error = check_signatures(batch->bumps[i]->request->authority, &item->detail);
        if (item->error == ERR_OK)
            item->error = bump_choose_fee(batch->bumps[i]->request, item, &item->detail);
    }
    batch_drop_refused(batch);
}

static enum err sign_all(
    struct keyd *keyd, int64_t deadline_ms, struct bump_batch *batch, struct detail *detail)
{
    for (size_t i = 0; i < batch->count; i++)
        batch->signings[i] = (struct bump_signing){.inner = batch->bumps[i]->request->xdr,
            .sealed = batch->items[i]->sealed,
            .fee_stroops = batch->items[i]->fee_stroops,
            .envelope = &batch->bumps[i]->envelope};
    enum err e =
        batch->count > 0 ? keyd_sign_fee_bumps(keyd, deadline_ms, batch->signings, batch->count) : ERR_OK;
    if (e != ERR_OK)
        return detail_set(detail, e, "the key process does not answer");
    for (size_t i = 0; i < batch->count; i++) {
        batch->items[i]->error = batch->signings[i].result;
        batch->items[i]->detail = batch->signings[i].detail;
        batch->items[i]->hash = batch->signings[i].hash;
        batch->items[i]->outer = buf_bytes(&batch->bumps[i]->envelope);
    }
    batch_drop_refused(batch);
    return ERR_OK;
}

/* Recording the same fee bumps twice changes nothing, so a COMMIT whose reply was lost is repeated. It is
 * sent so early that there is time for that before the connection's deadline. */
static enum err record_all(struct db *db, struct bump_batch *batch, struct detail *detail)
{
    const int64_t deadline_ms = db_deadline_ms(db);
    if (deadline_ms != 0)
        db_set_deadline(db, deadline_ms - clock_left_ms(deadline_ms) / 3);
    enum err e = fee_bumps_record(db, batch->items, batch->count, detail);
    db_set_deadline(db, deadline_ms);
    if (e == ERR_OUTCOME_UNKNOWN)
        e = fee_bumps_record(db, batch->items, batch->count, detail);
    if (e != ERR_OK)
        return e;
    batch_drop_refused(batch);
    for (size_t i = 0; i < batch->count; i++)
        batch->bumps[i]->state = GRANT_DONE;
    return ERR_OK;
}

enum err bump_batch_run(
    struct db *db, struct keyd *keyd, struct bump *const bumps[], size_t count, struct detail *detail)
{
    struct bump_batch *batch AUTO_FREE = NEW(struct bump_batch);
    enum err e;
    batch_fill(batch, bumps, count);
    if ((e = fee_bumps_find(db, batch->items, batch->count, detail)) == ERR_OK) {
        check_all(batch);
        if ((e = sign_all(keyd, signing_deadline_ms(db), batch, detail)) == ERR_OK)
            e = record_all(db, batch, detail);
    }
    for (size_t i = 0; i < count; i++) {
        if (e != ERR_OK) {
            bumps[i]->state = GRANT_OPEN;
            bumps[i]->item.limit = LIMIT_NONE;
        }
        if (bumps[i]->state != GRANT_DONE)
            bump_wipe(bumps[i]);
    }
    return e;
}
