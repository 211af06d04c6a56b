/* The calls of the key process, as messages. No key and no open seed is ever in this process. */
#include "keys/keyd.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadlines.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/metric.h"
#include "client.h"

/* More than a request or an answer has for one item besides its transaction. The answer to a lease with a bid
 * has most, less than 360 bytes. */
#define ITEM_AROUND 512
_Static_assert(
    SIGN_BATCH_MAX *(KEYD_TRANSACTION_MAX + ITEM_AROUND) < WIRE_PAYLOAD_MAX, "a batch and its answer fit");

enum err keyd_start(const char *program, enum keyd_mode mode, const struct keyd_settings *settings,
    const struct keyd_secrets *secrets, struct keyd **out, struct detail *detail)
{
    struct spawn_child child;
    enum err e = spawn_keyd(program, mode, settings, secrets, &child, detail);
    if (e != ERR_OK)
        return e;
    struct keyd *keyd = NEW(struct keyd);
    keyd->child = child;
    client_init(keyd);
    keyd->fees = budget_of(&settings->budget, 0, 0).fees;
    metric_set(METRIC_KEYD_BUDGET, 0, settings->budget.fee_stroops_per_hour);
    client_note_budget(keyd, (int64_t)keyd->fees.left);
    e = client_wait_ready(keyd, mode == KEYD_IMPORT ? KEYD_SEEDS_MS : KEYD_CALL_MS, detail);
    if (e != ERR_OK) {
        keyd_stop(keyd);
        return e;
    }
    *out = keyd;
    return ERR_OK;
}

void keyd_stop(struct keyd *keyd)
{
    if (keyd == NULL)
        return;
    close(keyd->child.fd); /* keyd ends when its socket closes */
    spawn_reap(&keyd->child, keyd->lost ? 0 : KEYD_CALL_MS);
    client_free(keyd);
    free(keyd);
}

bool keyd_runs(const struct keyd *keyd)
{
    struct pollfd ended = {.fd = keyd->child.pidfd, .events = POLLIN};
    return !atomic_load(&keyd->lost) && poll(&ended, 1, 0) == 0;
}

pid_t keyd_pid(const struct keyd *keyd)
{
    return keyd->child.pid;
}

int keyd_pidfd(const struct keyd *keyd)
{
    return keyd->child.pidfd;
}

bool keyd_ended(const struct keyd *keyd, struct detail *detail)
{
    return spawn_ended(&keyd->child, 0, detail);
}

static enum err unavailable(struct detail *detail)
{
    return detail_set(detail, ERR_KEYD_UNAVAILABLE, "the key process does not answer");
}

enum err keyd_load(struct keyd *keyd, const struct master_key_row rows[], size_t row_count,
    struct master_key_row *current, bool *is_new, struct public_key *distribution, struct detail *detail)
{
    struct buf *request;
    if (row_count > MASTER_KEY_ROWS_MAX)
        return detail_set(detail, ERR_CONFIG, "more than %d master keys", MASTER_KEY_ROWS_MAX);
    if (client_begin(keyd, 0, &request) != ERR_OK)
        return unavailable(detail);
    buf_add_u32(request, (uint32_t)row_count);
    for (size_t i = 0; i < row_count; i++)
        wire_put_row(request, &rows[i]);
    struct xdr_reader answer = client_exchange(keyd, WIRE_LOAD, KEYD_LOAD_MS);
    const enum err result = wire_get_result(&answer, detail);
    *current = wire_get_row(&answer);
    *is_new = xdr_bool(&answer);
    keyd->old_key = wire_get_row(&answer);
    xdr_opaque(&answer, distribution->bytes, sizeof distribution->bytes);
    return client_end(keyd, &answer) == ERR_OK ? result : unavailable(detail);
}

const struct master_key_row *keyd_old_key(const struct keyd *keyd)
{
    return keyd->old_key.key_id[0] == '\0' ? NULL : &keyd->old_key;
}

static struct generated_key read_key(struct xdr_reader *answer)
{
    struct generated_key key;
    xdr_opaque(answer, key.public_key.bytes, sizeof key.public_key.bytes);
    key.sealed = wire_get_sealed(answer);
    return key;
}

/* ERR_INTERNAL: keyd computed it wrong, and has logged it. */
static enum err read_sealing_result(struct xdr_reader *answer)
{
    const enum err result = wire_get_err(answer);
    if (result == ERR_INTERNAL)
        xdr_fail(answer, ERR_INTERNAL);
    return result;
}

enum err keyd_generate(struct keyd *keyd, size_t count, struct generated_key out[])
{
    INVARIANT(count <= KEYS_BATCH_MAX);
    struct buf *request;
    enum err e = client_begin(keyd, 0, &request);
    if (e != ERR_OK)
        return e;
    buf_add_u32(request, (uint32_t)count);
    struct xdr_reader answer = client_exchange(keyd, WIRE_GENERATE, KEYD_CALL_MS);
    for (size_t i = 0; i < count; i++)
        out[i] = read_key(&answer);
    return client_end(keyd, &answer);
}

enum err keyd_import(struct keyd *keyd, struct imported_key out[static KEYD_IMPORT_BATCH], size_t *count)
{
    struct buf *request;
    enum err e = client_begin(keyd, 0, &request);
    if (e != ERR_OK)
        return e;
    struct xdr_reader answer = client_exchange(keyd, WIRE_IMPORT, KEYD_CALL_MS);
    *count = xdr_count(&answer, KEYD_IMPORT_BATCH);
    for (size_t i = 0; i < *count; i++) {
        out[i].line = xdr_u32(&answer);
        out[i].result = read_sealing_result(&answer);
        out[i].key = read_key(&answer);
    }
    return client_end(keyd, &answer);
}

enum err keyd_reseal(struct keyd *keyd, struct generated_key accounts[], enum err results[], size_t count)
{
    INVARIANT(count <= KEYS_BATCH_MAX);
    struct buf *request;
    enum err e = client_begin(keyd, 0, &request);
    if (e != ERR_OK)
        return e;
    buf_add_u32(request, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buf_add(request, accounts[i].public_key.bytes, sizeof accounts[i].public_key.bytes);
        wire_put_sealed(request, &accounts[i].sealed);
    }
    struct xdr_reader answer = client_exchange(keyd, WIRE_RESEAL, KEYD_CALL_MS);
    for (size_t i = 0; i < count; i++) {
        results[i] = read_sealing_result(&answer);
        accounts[i].sealed = wire_get_sealed(&answer);
    }
    return client_end(keyd, &answer);
}

/* Of a message that signs; kind: of METRIC_KIND. */
static struct xdr_reader exchange(struct keyd *keyd, enum wire_type type, unsigned kind)
{
    const int64_t began_us = clock_us();
    struct xdr_reader answer = client_exchange(keyd, type, KEYD_CALL_MS);
    if (answer.e == ERR_OK)
        metric_observe(METRIC_KEYD_SECONDS, kind, 0, clock_us() - began_us);
    return answer;
}

static void read_budget(struct keyd *keyd, struct xdr_reader *answer)
{
    const int64_t left_stroops = xdr_i64(answer);
    if (answer->e == ERR_OK)
        client_note_budget(keyd, left_stroops);
}

static void put_transaction(struct buf *request, struct bytes transaction)
{
    INVARIANT(transaction.len <= KEYD_TRANSACTION_MAX);
    wire_put_bytes(request, transaction);
}

static void read_lease(struct xdr_reader *answer, struct lease_signing *item)
{
    item->result = wire_get_err(answer);
    xdr_opaque(answer, item->hash.bytes, sizeof item->hash.bytes);
    xdr_opaque(answer, item->signature.bytes, sizeof item->signature.bytes);
    xdr_opaque(answer, item->bid_hash.bytes, sizeof item->bid_hash.bytes);
    const struct bytes bid = wire_get_bytes(answer);
    const bool bids = item->result == ERR_OK && item->bid_fee_stroops != 0;
    if ((bid.len > 0) != bids)
        xdr_fail(answer, ERR_XDR_INVALID);
    else if (bids)
        buf_add_bytes(item->bid_envelope, bid);
}

enum err keyd_sign_leases(
    struct keyd *keyd, uint64_t now_s, int64_t deadline_ms, struct lease_signing items[], size_t count)
{
    INVARIANT(count <= SIGN_BATCH_MAX);
    struct buf *request;
    enum err e = client_begin(keyd, deadline_ms, &request);
    if (e != ERR_OK)
        return e;
    buf_add_u64(request, now_s);
    buf_add_u32(request, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buf_add(request, items[i].signer.bytes, sizeof items[i].signer.bytes);
        wire_put_sealed(request, &items[i].sealed);
        buf_add_u64(request, (uint64_t)items[i].bid_fee_stroops);
        put_transaction(request, items[i].transaction);
    }
    struct xdr_reader answer = exchange(keyd, WIRE_LEASES, METRIC_LEASE);
    for (size_t i = 0; answer.e == ERR_OK && i < count; i++)
        read_lease(&answer, &items[i]);
    read_budget(keyd, &answer);
    return client_end(keyd, &answer);
}

/* Reads what the answers to fee bump and provisioning have in common: result, detail, hash, envelope. */
static enum err read_signed(
    struct xdr_reader *answer, struct buf *envelope, struct hash *hash, struct detail *detail)
{
    const enum err result = wire_get_result(answer, detail);
    xdr_opaque(answer, hash->bytes, sizeof hash->bytes);
    buf_add_bytes(envelope, wire_get_bytes(answer));
    return result;
}

enum err keyd_sign_fee_bumps(
    struct keyd *keyd, int64_t deadline_ms, struct bump_signing items[], size_t count)
{
    INVARIANT(count <= SIGN_BATCH_MAX);
    struct buf *request;
    enum err e = client_begin(keyd, deadline_ms, &request);
    if (e != ERR_OK)
        return e;
    buf_add_u32(request, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        buf_add_u64(request, (uint64_t)items[i].fee_stroops);
        wire_put_sealed(request, &items[i].sealed);
        put_transaction(request, items[i].inner);
    }
    struct xdr_reader answer = exchange(keyd, WIRE_FEE_BUMPS, METRIC_FEE_BUMP);
    for (size_t i = 0; answer.e == ERR_OK && i < count; i++)
        items[i].result = read_signed(&answer, items[i].envelope, &items[i].hash, &items[i].detail);
    read_budget(keyd, &answer);
    return client_end(keyd, &answer);
}

enum err keyd_sign_provisioning(struct keyd *keyd, uint64_t now_s, const struct provisioning_tx *provisioning,
    const struct sealed_seed sealed[], struct buf *envelope, struct hash *hash, uint32_t *broken,
    struct detail *detail)
{
    struct buf *request;
    if (client_begin(keyd, 0, &request) != ERR_OK)
        return unavailable(detail);
    buf_add_u64(request, now_s);
    buf_add_u32(request, provisioning->kind);
    buf_add(request, provisioning->distribution.bytes, sizeof provisioning->distribution.bytes);
    buf_add_u32(request, provisioning->bumped);
    buf_add_u64(request, (uint64_t)provisioning->sequence);
    buf_add_u32(request, provisioning->fee_stroops);
    buf_add_u64(request, provisioning->max_time_s);
    buf_add_u32(request, (uint32_t)provisioning->account_count);
    for (size_t i = 0; i < provisioning->account_count; i++) {
        buf_add(request, provisioning->accounts[i].bytes, sizeof provisioning->accounts[i].bytes);
        wire_put_sealed(request, &sealed[i]);
    }
    if (provisioning->bumped) {
        buf_add(request, provisioning->source.bytes, sizeof provisioning->source.bytes);
        wire_put_sealed(request, &sealed[provisioning->account_count]);
    }
    struct xdr_reader answer = client_exchange(keyd, WIRE_PROVISIONING, KEYD_CALL_MS);
    const enum err result = read_signed(&answer, envelope, hash, detail);
    *broken = xdr_count(&answer, (uint32_t)provisioning->account_count + provisioning->bumped - 1);
    return client_end(keyd, &answer) == ERR_OK ? result : unavailable(detail);
}
