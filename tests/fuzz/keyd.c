/*
 * The key process, driven by a hostile front process. The input is a mode and a conversation; each step is a
 * message of any bytes, or one that is built so that it gets as far as a signature: a lease of an account of
 * the pool, the fee bump of it, a merge. No answer may hold a signature that the rules do not allow.
 */
#include <string.h>
#include <sodium.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "keys/handle.h"
#include "keys/own_clock.h"
#include "keys/ring.h"
#include "keys/wire.h"
#include "stellar/envelope_build.h"
#include "stellar/provisioning_tx.h"
#include "stellar/strkey.h"

#define LEASE_FEE_MAX 100000
#define BUMP_FEE_MAX 200000
#define ANSWER_LEAST                                                                                         \
    (4 + 32 + 64 + 32 + 4 + 8) /* to one lease without a bid: the item, and the budget left */

static struct ring ring, loaded; /* as they are after WIRE_LOAD */
static struct ring_secrets loaded_secrets;
static struct generated_key account;
static const struct keyd_settings settings = {.budget = {1000, 10000000},
    .limits = {.base_fee_stroops = 100, .max_resource_fee_stroops = 50000},
    .max_lease_fee_stroops = LEASE_FEE_MAX,
    .max_bump_fee_stroops = BUMP_FEE_MAX};

struct script {
    const uint8_t *at, *end;
};

static uint64_t take(struct script *script, unsigned bytes)
{
    uint64_t value = 0;
    for (; bytes > 0; bytes--)
        value = value << 8 | (script->at < script->end ? *script->at++ : 0);
    return value;
}

static struct bytes take_bytes(struct script *script, size_t len)
{
    size_t left = (size_t)(script->end - script->at);
    struct bytes out = {script->at, len < left ? len : left};
    script->at += out.len;
    return out;
}

static int fd_of(const void *data, size_t len)
{
    int ends[2];
    RULE(pipe(ends) == 0 && write(ends[1], data, len) == (ssize_t)len);
    close(ends[1]);
    return ends[0];
}

/* A ring with a master key, a distribution key and one account, as after WIRE_LOAD. */
static void prepare(void)
{
    static const uint8_t master_key[32] = {1, 2, 3};
    char seed[STRKEY_SIZE];
    struct detail detail;
    bool is_new;
    RULE(sodium_init() >= 0);
    strkey_encode(STRKEY_SEED, master_key, seed);
    const struct network_id network = network_id_of("fuzz");
    RULE(ring_open(&ring, &network, &detail) == ERR_OK);
    const struct keyd_secrets secrets = {.fd[SECRET_MASTER_KEY] = fd_of(master_key, sizeof master_key),
        .fd[SECRET_PASSPHRASE] = -1,
        .fd[SECRET_DISTRIBUTION] = fd_of(seed, strlen(seed))};
    if (ring_read(&ring, &secrets, &detail) != ERR_OK ||
        ring_load(&ring, NULL, 0, &is_new, &detail) != ERR_OK) {
        fprintf(stderr, "%s\n", detail.text);
        abort();
    }
    ring_generate(&ring, &account);
    loaded = ring;
    loaded_secrets = *ring.secrets;
    (void)!log_set_level("error");
}

struct talk {
    struct handle_state state;
    struct buf lease, answer; /* the lease that was signed last, as an envelope */
    unsigned signatures;
};

static bool is_zero(const uint8_t *data, size_t len)
{
    for (; len > 0; len--)
        if (data[len - 1] != 0)
            return false;
    return true;
}

/* Handles a message as server_run does. Returns false when that would end the process. */
static bool handle(struct talk *talk, handle_fn function, struct bytes payload)
{
    struct xdr_reader reader = xdr_reader(payload);
    buf_clear(&talk->answer);
    function(&talk->state, &reader, &talk->answer);
    return xdr_end(&reader) == ERR_OK;
}

static void put_account(struct buf *message, bool broken)
{
    struct sealed_seed sealed = account.sealed;
    sealed.box[3] ^= (uint8_t)broken;
    wire_put_sealed(message, &sealed);
}

/* One payment, or the bytes of the input as the transaction's tail. */
static void build_transaction(struct script *script, struct buf *out, uint64_t now_s)
{
    struct provisioning_tx model = {.kind = PROVISIONING_MERGE,
        .distribution = account.public_key,
        .sequence = 5,
        .fee_stroops = 100 + (uint32_t)take(script, 2),
        .max_time_s = now_s + take(script, 2),
        .account_count = 1,
        .accounts = {{{7}}}};
    provisioning_tx_build(&model, out);
    uint8_t edits = (uint8_t)take(script, 1) % 8;
    for (; edits > 0; edits--) {
        size_t at = (size_t)take(script, 2) % out->len;
        out->data[at] = (uint8_t)take(script, 1);
    }
}

/* The bid of the answer is the fee bump of the lease that was signed, or there is none. */
static void check_bid(const struct talk *talk, int64_t fee, int64_t resource_fee)
{
    struct xdr_reader answer = xdr_reader(buf_bytes(&talk->answer));
    struct envelope bid, leased;
    answer.at += 4 + 32 + 64 + 32;
    const struct bytes span = wire_get_bytes(&answer);
    RULE(answer.e == ERR_OK && (span.len > 0) == (fee != 0));
    if (fee == 0)
        return;
    RULE(fee > 0 && fee <= BUMP_FEE_MAX + resource_fee);
    RULE(envelope_decode(span, &bid, NULL) == ERR_OK && bid.form == ENVELOPE_FEE_BUMP);
    RULE(envelope_decode(buf_bytes(&talk->lease), &leased, NULL) == ERR_OK);
    RULE(bytes_equal(bid.body, leased.body) && bytes_equal(bid.signature_list, leased.signature_list));
}

static void lease(struct talk *talk, struct script *script)
{
    CLEANUP(buf_free) struct buf message = {0}, transaction = {0};
    const uint64_t now_s = own_clock_latest_s() - 200 + take(script, 1);
    const uint8_t how = (uint8_t)take(script, 1);
    const bool broken = how == 1;
    const int64_t bid = how < 2 ? 0 : (int64_t)take(script, 4);
    build_transaction(script, &transaction, now_s);
    buf_add_u64(&message, now_s);
    buf_add_u32(&message, 1);
    buf_add(&message, account.public_key.bytes, sizeof account.public_key.bytes);
    put_account(&message, broken);
    buf_add_u64(&message, (uint64_t)bid);
    wire_put_bytes(&message, buf_bytes(&transaction));
    RULE(handle(talk, handle_leases, buf_bytes(&message)));
    RULE(talk->answer.len >= ANSWER_LEAST);
    const uint8_t *answer = talk->answer.data;
    struct signature signature;
    struct hash hash;
    memcpy(hash.bytes, answer + 4, sizeof hash.bytes);
    memcpy(signature.bytes, answer + 36, sizeof signature.bytes);
    if (be32_get(answer) != ERR_OK) {
        RULE(is_zero(signature.bytes, sizeof signature.bytes));
        RULE(talk->answer.len == ANSWER_LEAST); /* no bid */
        return;
    }
    /* what was signed is a lease by the rules of the front, and not valid for longer than keyd's clock allows
     */
    struct envelope view;
    struct detail detail;
    const struct hash wanted = transaction_hash(&ring.network, buf_bytes(&transaction));
    RULE(!broken && hash_equal(&wanted, &hash) && signature_valid(&signature, &hash, &account.public_key));
    RULE(transaction_decode(buf_bytes(&transaction), &view, &detail) == ERR_OK);
    RULE(policy_check_lease(&view, &account.public_key, &talk->state.settings.limits, LEASE_FEE_MAX, now_s,
             &detail) == ERR_OK);
    RULE(view.preconditions.max_time_s <= own_clock_latest_s() + LEASE_SECONDS_MAX);
    talk->signatures++;
    buf_clear(&talk->lease);
    envelope_build(buf_bytes(&transaction), &account.public_key, &signature, 1, &talk->lease);
    check_bid(talk, bid, view.resource_fee_stroops);
}

static void fee_bump(struct talk *talk, struct script *script)
{
    CLEANUP(buf_free) struct buf message = {0}, inner = {0};
    const int64_t fee = (int64_t)take(script, 4);
    buf_add_bytes(&inner, buf_bytes(&talk->lease));
    uint8_t edits = (uint8_t)take(script, 1) % 4;
    for (; edits > 0 && inner.len > 0; edits--) {
        size_t at = (size_t)take(script, 2) % inner.len;
        inner.data[at] = (uint8_t)take(script, 1);
    }
    buf_add_u32(&message, 1);
    buf_add_u64(&message, (uint64_t)fee);
    put_account(&message, false);
    wire_put_bytes(&message, buf_bytes(&inner));
    RULE(handle(talk, handle_fee_bumps, buf_bytes(&message)));
    RULE(talk->answer.len >= 4);
    if (be32_get(talk->answer.data) != ERR_OK)
        return;
    /* only of a lease that was signed, in the same bytes */
    struct envelope signed_lease, view;
    struct detail detail;
    RULE(talk->lease.len > 0 && envelope_decode(buf_bytes(&talk->lease), &signed_lease, &detail) == ERR_OK);
    RULE(envelope_decode(buf_bytes(&inner), &view, &detail) == ERR_OK);
    RULE(bytes_equal(view.body, signed_lease.body));
    RULE(fee > 0 && fee <= BUMP_FEE_MAX + view.resource_fee_stroops);
    talk->signatures++;
}

static void provision(struct talk *talk, struct script *script)
{
    CLEANUP(buf_free) struct buf message = {0};
    const uint64_t now_s = own_clock_latest_s() - 200 + take(script, 1);
    buf_add_u64(&message, now_s);
    buf_add_u32(&message, (uint32_t)take(script, 1) & 3);
    buf_add(&message, ring.distribution.bytes, sizeof ring.distribution.bytes);
    buf_add_u64(&message, take(script, 8));
    buf_add_u32(&message, (uint32_t)take(script, 3));
    buf_add_u64(&message, now_s + take(script, 2));
    uint32_t count = (uint32_t)take(script, 1);
    buf_add_u32(&message, count);
    for (; count > 0 && count < 25; count--) {
        buf_add(&message, account.public_key.bytes, sizeof account.public_key.bytes);
        put_account(&message, take(script, 1) == 1);
    }
    (void)handle(talk, handle_provisioning, buf_bytes(&message));
}

static void any_message(struct talk *talk, struct script *script)
{
    static const handle_fn functions[] = {
        handle_load, handle_generate, handle_leases, handle_fee_bumps, handle_provisioning};
    const size_t which = (size_t)take(script, 1) % ARRAY_LEN(functions);
    const struct bytes payload = take_bytes(script, (size_t)take(script, 2));
    (void)handle(talk, functions[which], payload);
    if (which == 0) { /* the next message goes to a process with the right keys again */
        ring = loaded;
        *ring.secrets = loaded_secrets;
    }
}

/* No message changes the limits. */
static void check_settings(const struct keyd_settings *now)
{
    RULE(now->max_lease_fee_stroops == LEASE_FEE_MAX && now->max_bump_fee_stroops == BUMP_FEE_MAX);
    RULE(now->limits.base_fee_stroops == settings.limits.base_fee_stroops);
    RULE(now->limits.max_resource_fee_stroops == settings.limits.max_resource_fee_stroops);
    RULE(now->budget.signatures_per_second == settings.budget.signatures_per_second);
    RULE(now->budget.fee_stroops_per_hour == settings.budget.fee_stroops_per_hour);
    RULE(public_key_equal(&now->limits.distribution, &ring.distribution));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, data + size};
    if (ring.secrets == NULL)
        prepare();
    struct talk talk = {.state = handle_state_of(&ring, &settings)};
    talk.state.loaded = true;
    while (script.at < script.end && talk.signatures < 50) {
        static void (*const steps[])(struct talk *, struct script *) = {
            lease, fee_bump, provision, any_message};
        steps[take(&script, 1) % ARRAY_LEN(steps)](&talk, &script);
        check_settings(&talk.state.settings);
        struct key_pair empty = {0};
        RULE(memcmp(&ring.secrets->open, &empty, sizeof empty) == 0);
    }
    handle_state_wipe(&talk.state);
    buf_free(&talk.lease);
    buf_free(&talk.answer);
    return 0;
}
