/*
 * A captured fairway: what it can have signed by the real key process, and what not. The table below equals
 * the one in docker/security.md. test_keyd_walls.c has the messages that end the key process, test_keyd.c the
 * damaged ones.
 */
#include <string.h>
#include <time.h>

#include "check.h"
#include <sodium.h>

#include "../../src/keys/seal.h"
#include "../../src/keys/wire.h"
#include "base/clock.h"
#include "base/mem.h"
#include "stellar/envelope_build.h"
#include "support/keyd.h"
#include "unit/stellar/sample.h"

#define YEAR_2100_S 4102444800
#define NONE INT64_MIN
#define MAX_FEE 100000 /* keyd_test_settings */
#define LEASE_FEE 10000
#define FIRST_SEQUENCE 9

static struct keyd *serving, *provisioning;
static struct generated_key accounts[2];
static struct network_id network;

enum form {
    LEASE,
    BUMP,          /* of a transaction that the channel account has signed, however that came about */
    BUMP_UNSIGNED, /* of one that it has not signed */
    CREATION,
    MERGE,
    SAME_SEQUENCE, /* two leases that differ, with one sequence number */
    BUMP_AGAIN,    /* of a transaction that was bumped before */
    BEYOND_BUDGET,
    BUMP_OTHER_NETWORK, /* of a transaction that the channel account has signed for another network */
    OTHER_NETWORK,      /* a lease, and a creation; ERR_REFUSED: it is for the network of keyd */
    SECOND_LOAD
};

/* Whose operation the transaction has. */
enum authority {
    CLIENTS,
    NOBODYS, /* no source: it acts for the channel account */
    OWN,     /* the channel account's */
    /* A contract call without a source, and whose credentials its entry has: */
    ENTRY_OF_NOBODY, /* none */
    ENTRY_OF_CLIENT,
    ENTRY_OF_SOURCE,
    ENTRY_OF_OWN, /* of the channel account, by address */
};

struct attempt {
    const char *what;
    enum err answer; /* ERR_OK: it can */
    enum form form;
    int64_t now_s, max_time_s; /* in seconds from now, or a year as Unix time; NONE: no max time */
    int64_t fee;
    enum authority authority;
    int64_t resource_fee; /* of a Soroban transaction; 0: classic */
    bool other_seed;      /* the sealed seed of another account */
    int64_t sequence;     /* of the transaction, after FIRST_SEQUENCE */
    uint32_t entries;     /* in the footprint of a Soroban transaction */
};

/* The texts are the rows of the table in docker/security.md; tests/lint/readme.test.mjs compares them. */
#define ANY_LEASE "leases for any account of the pool, leased or not, valid for up to 420 s"
#define SAME_NUMBER "several of them for one account and one sequence number, of which the network takes one"
#define ANY_BUMP                                                                                             \
    "fee bumps of these, each for up to MAX_FEE and the transaction's resource fee, also several of one"
#define PROVISIONING "creations and merges of channel accounts, only in ensure-accounts"
#define LONGER "anything that is valid for longer"
#define AUTHORITY "anything that uses the authority of a channel account"
#define HIGHER "an inner fee, resource fee, bump or creation with a higher fee"
#define UNKNOWN_INNER "a fee bump for what the key process has not signed"
#define FOREIGN "anything with the sealed seed of another account, network or master key"
#define MORE "more signatures or fees than the budget"
#define ANOTHER_NETWORK "anything for another network"
#define OTHER_LIMITS "other limits, by any message"

static const struct attempt attempts[] = {
    {ANY_LEASE, ERR_OK, LEASE, 0, 300, .fee = 100},
    {ANY_LEASE, ERR_OK, LEASE, 110, 410, .fee = 100},
    {ANY_LEASE, ERR_OK, LEASE, 0, 60, .fee = LEASE_FEE},
    {ANY_LEASE, ERR_OK, LEASE, 0, 60, .fee = 100, .authority = ENTRY_OF_CLIENT},
    {ANY_BUMP, ERR_OK, BUMP, 0, 60, .fee = MAX_FEE, .authority = ENTRY_OF_CLIENT},
    {ANY_LEASE, ERR_OK, LEASE, 0, 60, .fee = 100, .authority = ENTRY_OF_NOBODY},
    {ANY_BUMP, ERR_OK, BUMP, 0, 60, .fee = MAX_FEE, .authority = ENTRY_OF_NOBODY},
    {ANY_BUMP, ERR_OK, BUMP, 0, 300, .fee = MAX_FEE},
    {ANY_BUMP, ERR_OK, BUMP, 0, 410, .fee = MAX_FEE},
    {ANY_BUMP, ERR_OK, BUMP, 0, 300, .fee = MAX_FEE + 5000, .resource_fee = 5000},
    {SAME_NUMBER, ERR_OK, SAME_SEQUENCE, 0, 300, .fee = 100},
    {ANY_BUMP, ERR_OK, BUMP_AGAIN, 0, 300, .fee = MAX_FEE},
    {PROVISIONING, ERR_OK, CREATION, 110, 410, .fee = MAX_FEE},
    {PROVISIONING, ERR_OK, MERGE, 0, 300, .fee = MAX_FEE},

    {LONGER, ERR_INVALID_TRANSACTION, LEASE, 0, YEAR_2100_S, .fee = 100},
    {LONGER, ERR_KEYD_CLOCK, LEASE, YEAR_2100_S - 60, YEAR_2100_S, .fee = 100},
    {LONGER, ERR_KEYD_CLOCK, LEASE, 900, 1000, .fee = 100},
    {LONGER, ERR_INVALID_TRANSACTION, LEASE, 0, NONE, .fee = 100},
    {LONGER, ERR_INVALID_TRANSACTION, BUMP, 0, YEAR_2100_S, .fee = 1000},
    {LONGER, ERR_INVALID_TRANSACTION, BUMP, 0, 1000, .fee = 1000},
    {LONGER, ERR_INVALID_TRANSACTION, BUMP, 0, NONE, .fee = 1000},
    {LONGER, ERR_INVALID_TRANSACTION, CREATION, 0, YEAR_2100_S, .fee = 1000},
    {LONGER, ERR_KEYD_CLOCK, CREATION, YEAR_2100_S - 60, YEAR_2100_S, .fee = 1000},
    {LONGER, ERR_KEYD_CLOCK, MERGE, YEAR_2100_S - 60, YEAR_2100_S, .fee = 1000},
    {LONGER, ERR_INVALID_TRANSACTION, MERGE, 0, NONE, .fee = 1000},

    {AUTHORITY, ERR_INVALID_OPERATION_STRUCTURE, LEASE, 0, 60, .fee = 100, .authority = NOBODYS},
    {AUTHORITY, ERR_FORBIDDEN_SIGNER, LEASE, 0, 60, .fee = 100, .authority = OWN},
    {AUTHORITY, ERR_INVALID_OPERATION_STRUCTURE, BUMP, 0, 60, .fee = 1000, .authority = NOBODYS},
    {AUTHORITY, ERR_FORBIDDEN_SIGNER, BUMP, 0, 60, .fee = 1000, .authority = OWN},
    {AUTHORITY, ERR_SOURCE_CREDENTIALS_NOT_ALLOWED, LEASE, 0, 60, .fee = 100, .authority = ENTRY_OF_SOURCE},
    {AUTHORITY, ERR_FORBIDDEN_SIGNER, LEASE, 0, 60, .fee = 100, .authority = ENTRY_OF_OWN},
    {AUTHORITY, ERR_SOURCE_CREDENTIALS_NOT_ALLOWED, BUMP, 0, 60, .fee = 1000, .authority = ENTRY_OF_SOURCE},
    {AUTHORITY, ERR_FORBIDDEN_SIGNER, BUMP, 0, 60, .fee = 1000, .authority = ENTRY_OF_OWN},

    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, LEASE, 0, 60, .fee = LEASE_FEE + 1},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, LEASE, 0, 60, .fee = 100, .resource_fee = 1000001},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, BUMP, 0, 60, .fee = MAX_FEE + 1},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, BUMP, 0, 60, .fee = MAX_FEE + 5001, .resource_fee = 5000},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, BUMP, 0, 60, .fee = 1000, .resource_fee = 1000001},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, BUMP, 0, 60, .fee = INT64_MAX, .resource_fee = 5000},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, BUMP, 0, 60, .fee = -1},
    {HIGHER, ERR_FEE_EXCEEDS_MAXIMUM, CREATION, 0, 60, .fee = MAX_FEE + 1},

    {UNKNOWN_INNER, ERR_CHANNEL_SIGNATURE_MISSING, BUMP_UNSIGNED, 0, 60, .fee = 1000},
    {FOREIGN, ERR_SEAL_BROKEN, LEASE, 0, 60, .fee = 100, .other_seed = true},
    {FOREIGN, ERR_SEAL_BROKEN, BUMP, 0, 60, .fee = 1000, .other_seed = true},
    {MORE, ERR_KEYD_BUDGET, BEYOND_BUDGET, 0, 60, .fee = MAX_FEE},
    {ANOTHER_NETWORK, ERR_CHANNEL_SIGNATURE_MISSING, BUMP_OTHER_NETWORK, 0, 60, .fee = 1000},
    {ANOTHER_NETWORK, ERR_REFUSED, OTHER_NETWORK, 0, 60, .fee = 100},
    {OTHER_LIMITS, ERR_KEYD_UNAVAILABLE, SECOND_LOAD, 0, 0, .fee = 0},
};

static uint64_t time_of(int64_t at_s)
{
    if (at_s == NONE)
        return 0;
    return (uint64_t)(at_s < YEAR_2100_S - 60 ? time(NULL) + at_s : at_s);
}

/* Replaces the key of sample_key(3). */
static void set_operation_source(struct buf *transaction, const struct public_key *key)
{
    const struct public_key three = sample_key(3);
    uint8_t *at = memmem(transaction->data, transaction->len, three.bytes, sizeof three.bytes);
    assert_non_null(at);
    memcpy(at, key->bytes, sizeof key->bytes);
}

static void build(const struct attempt *attempt, struct buf *out)
{
    struct sample sample CLEANUP(sample_wipe) = SAMPLE;
    struct buf auth CLEANUP(buf_free) = {0};
    const struct transaction_head head = {.source = accounts[0].public_key,
        .fee_stroops = attempt->form == LEASE ? (uint32_t)attempt->fee : 100,
        .sequence = FIRST_SEQUENCE + attempt->sequence,
        .max_time_s = time_of(attempt->max_time_s)};
    if (attempt->authority == ENTRY_OF_SOURCE)
        add_source_account_entry(&auth);
    else
        add_address_entry(&auth, 2, ACCOUNT, 3);
    if (attempt->authority >= ENTRY_OF_NOBODY)
        add_invoke(&sample, NO_SOURCE, 0, attempt->authority != ENTRY_OF_NOBODY,
            attempt->authority == ENTRY_OF_NOBODY ? NULL : &auth);
    else if (attempt->resource_fee != 0)
        add_extend(&sample, PLAIN, 3);
    else
        add_payment(&sample, attempt->authority == NOBODYS ? NO_SOURCE : PLAIN, 3);
    sample.resource_fee_stroops = attempt->resource_fee;
    sample.read_only_count = attempt->entries;
    set_times(&sample, 0, 0); /* a max time of 0 is kept as PRECOND_TIME */
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    transaction_build(&sample.view, &head, out);
    if (attempt->authority == OWN || attempt->authority == ENTRY_OF_OWN)
        set_operation_source(out, &accounts[0].public_key);
}

/* As the channel account: the key process would not have signed most of these. */
static struct signature signature_of(struct bytes transaction, const struct network_id *on)
{
    uint8_t master[MASTER_KEY_SIZE];
    struct key_pair pair;
    struct signature signature;
    const struct hash hash = transaction_hash(on, transaction);
    memset(master, 7, sizeof master);
    assert_int_equal(
        seal_open(master, &network, &accounts[0].public_key, &accounts[0].sealed, &pair), ERR_OK);
    crypto_sign_detached(signature.bytes, NULL, hash.bytes, sizeof hash.bytes, pair.secret);
    return signature;
}

static enum err lease(const struct attempt *attempt)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    build(attempt, &transaction);
    struct lease_signing item = {.transaction = buf_bytes(&transaction),
        .signer = accounts[0].public_key,
        .sealed = accounts[attempt->other_seed].sealed};
    assert_int_equal(keyd_sign_leases(serving, time_of(attempt->now_s), 0, &item, 1), ERR_OK);
    return item.result;
}

static enum err bump(struct keyd *keyd, const struct attempt *attempt)
{
    CLEANUP(buf_free) struct buf transaction = {0}, inner = {0}, out = {0};
    const struct network_id other = network_id_of("Public Global Stellar Network ; September 2015");
    build(attempt, &transaction);
    struct signature signature =
        signature_of(buf_bytes(&transaction), attempt->form == BUMP_OTHER_NETWORK ? &other : &network);
    if (attempt->form == BUMP_UNSIGNED)
        signature = (struct signature){{1}};
    envelope_build(buf_bytes(&transaction), &accounts[0].public_key, &signature, 1, &inner);
    struct bump_signing item = {.inner = buf_bytes(&inner),
        .sealed = accounts[attempt->other_seed].sealed,
        .fee_stroops = attempt->fee,
        .envelope = &out};
    assert_int_equal(keyd_sign_fee_bumps(keyd, 0, &item, 1), ERR_OK);
    assert_true((item.result == ERR_OK) == (out.len != 0));
    assert_true((item.result == ERR_OK) == (item.detail.text[0] == '\0'));
    return item.result;
}

static struct provisioning_tx provisioning_of(const struct attempt *attempt)
{
    return (struct provisioning_tx){
        .kind = attempt->form == MERGE ? PROVISIONING_MERGE : PROVISIONING_CREATION,
        .distribution = keyd_distribution(),
        .sequence = 5,
        .fee_stroops = (uint32_t)attempt->fee,
        .max_time_s = time_of(attempt->max_time_s),
        .account_count = 1,
        .accounts = {accounts[0].public_key}};
}

static enum err provision(const struct attempt *attempt)
{
    struct buf out CLEANUP(buf_free) = {0};
    struct hash hash;
    uint32_t broken;
    const struct provisioning_tx transaction = provisioning_of(attempt);
    return keyd_sign_provisioning(
        provisioning, time_of(attempt->now_s), &transaction, &accounts[0].sealed, &out, &hash, &broken, NULL);
}

/* Whether a creation and a lease are signed for the network of keyd's command line. No message names one. */
static bool own_network(const struct attempt *attempt)
{
    CLEANUP(buf_free) struct buf body = {0}, out = {0};
    struct hash hash;
    uint32_t broken;
    const struct provisioning_tx creation = provisioning_of(attempt);
    assert_int_equal(keyd_sign_provisioning(provisioning, time_of(attempt->now_s), &creation,
                         &accounts[0].sealed, &out, &hash, &broken, NULL),
        ERR_OK);
    provisioning_tx_build(&creation, &body);
    const struct hash created = transaction_hash(&network, buf_bytes(&body));
    struct envelope envelope;
    struct signature signature;
    assert_int_equal(envelope_decode(buf_bytes(&out), &envelope, NULL), ERR_OK);
    memcpy(signature.bytes, envelope.signatures[0].signature.data, sizeof signature.bytes);
    const bool creates = signature_valid(&signature, &created, &creation.distribution);

    buf_clear(&body);
    build(attempt, &body);
    struct lease_signing item = {
        .transaction = buf_bytes(&body), .signer = accounts[0].public_key, .sealed = accounts[0].sealed};
    assert_int_equal(keyd_sign_leases(serving, time_of(attempt->now_s), 0, &item, 1), ERR_OK);
    assert_int_equal(item.result, ERR_OK);
    const struct hash leased = transaction_hash(&network, item.transaction);
    return creates && signature_valid(&item.signature, &leased, &item.signer);
}

/* ---- with a key process of its own */

static enum err load(struct keyd *keyd)
{
    struct master_key_row current;
    struct public_key distribution;
    bool is_new;
    return keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, NULL);
}

static struct keyd *with_budget(const struct keyd_budget *budget)
{
    struct keyd *keyd;
    const struct keyd_secrets secrets = keyd_known_secrets();
    struct keyd_settings settings = keyd_test_settings();
    settings.budget = *budget;
    assert_int_equal(keyd_start(keyd_program(), KEYD_SERVE, &settings, &secrets, &keyd, NULL), ERR_OK);
    assert_int_equal(load(keyd), ERR_OK);
    return keyd;
}

/* Fee bumps of three transactions, with a budget for two and a half. */
static enum err beyond_budget(const struct attempt *attempt)
{
    const struct keyd_budget budget = {1000, 2 * MAX_FEE + MAX_FEE / 2};
    AUTO_KEYD keyd = with_budget(&budget);
    struct attempt next = *attempt;
    assert_int_equal(bump(keyd, &next), ERR_OK);
    next.sequence++;
    assert_int_equal(bump(keyd, &next), ERR_OK);
    next.sequence++;
    enum err e = bump(keyd, &next);
    return e;
}

static enum err second_load(void)
{
    const struct keyd_budget budget = keyd_test_settings().budget;
    AUTO_KEYD keyd = with_budget(&budget);
    enum err e = load(keyd);
    return e;
}

/* The second one has another fee. */
static enum err same_sequence(const struct attempt *attempt)
{
    struct attempt other = *attempt;
    other.fee++;
    enum err e = lease(attempt);
    return e == ERR_OK ? lease(&other) : e;
}

static enum err answer_to(const struct attempt *attempt)
{
    switch (attempt->form) {
    case LEASE:
        return lease(attempt);
    case BUMP:
    case BUMP_UNSIGNED:
    case BUMP_OTHER_NETWORK:
        return bump(serving, attempt);
    case BUMP_AGAIN:
        return bump(serving, attempt) == ERR_OK ? bump(serving, attempt) : ERR_INTERNAL;
    case SAME_SEQUENCE:
        return same_sequence(attempt);
    case BEYOND_BUDGET:
        return beyond_budget(attempt);
    case OTHER_NETWORK:
        return own_network(attempt) ? ERR_REFUSED : ERR_OK;
    case SECOND_LOAD:
        return second_load();
    case CREATION:
    case MERGE:
    default:
        return provision(attempt);
    }
}

TEST(what_a_captured_fairway_can_and_cannot_have_signed)
{
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        enum err e = answer_to(&attempts[i]);
        if (e != attempts[i].answer)
            fail_msg("%s (attempt %zu): %s instead of %s", attempts[i].what, i, err_code(e),
                err_code(attempts[i].answer));
    }
}

/* ---- the budget */

/* The budget fills while the test runs; 20 signatures a second are few beside how fast it can ask. */
TEST(signatures_over_the_budget_are_refused_one_by_one_and_later_made)
{
    enum {
        ASKED = SIGN_BATCH_MAX
    };
    const struct attempt good = {"", ERR_OK, LEASE, 0, 60, .fee = 100};
    const struct keyd_budget budget = {20, INT64_MAX};
    AUTO_KEYD keyd = with_budget(&budget);
    struct buf transaction CLEANUP(buf_free) = {0};
    struct lease_signing items[ASKED];
    build(&good, &transaction);
    for (size_t i = 0; i < ASKED; i++)
        items[i] = (struct lease_signing){.transaction = buf_bytes(&transaction),
            .signer = accounts[0].public_key,
            .sealed = accounts[0].sealed};
    const int64_t begun_ms = clock_ms();
    assert_int_equal(keyd_sign_leases(keyd, time_of(0), 0, items, ASKED), ERR_OK);
    const int64_t most = 20 + (clock_ms() - begun_ms) * 20 / 1000 + 1;
    int64_t count = 0;
    for (size_t i = 0; i < ASKED; i++) {
        assert_true(items[i].result == ERR_OK || items[i].result == ERR_KEYD_BUDGET);
        count += items[i].result == ERR_OK;
    }
    assert_in_range(count, 20, most);
    clock_sleep_ms(200);
    assert_int_equal(keyd_sign_leases(keyd, time_of(0), 0, items, 1), ERR_OK);
    assert_int_equal(items[0].result, ERR_OK);
}

TEST(fees_over_the_budget_are_refused_and_leases_are_not)
{
    const struct attempt dear = {"", ERR_OK, BUMP, 0, 60, .fee = MAX_FEE},
                         second = {"", ERR_OK, BUMP, 0, 60, .fee = MAX_FEE, .sequence = 1},
                         third = {"", ERR_OK, BUMP, 0, 60, .fee = MAX_FEE, .sequence = 2},
                         good = {"", ERR_OK, LEASE, 0, 60, .fee = 100};
    const struct keyd_budget budget = {1000, 2 * MAX_FEE + MAX_FEE / 2};
    struct keyd *keyd = with_budget(&budget), *other = serving;
    assert_int_equal(bump(keyd, &dear), ERR_OK);
    assert_int_equal(bump(keyd, &second), ERR_OK);
    assert_int_equal(bump(keyd, &third), ERR_KEYD_BUDGET);
    serving = keyd;
    assert_int_equal(lease(&good), ERR_OK);
    serving = other;
    keyd_stop(keyd);
}

/* A lease with a bid costs two signatures and the bid; what has not both is not signed at all, and costs
 * nothing. */
TEST(a_lease_and_its_bid_are_within_the_budget_or_neither_is_signed)
{
    const struct attempt one = {"", ERR_OK, LEASE, 0, 60, .fee = 100},
                         two = {"", ERR_OK, LEASE, 0, 60, .fee = 100, .sequence = 1};
    const struct keyd_budget budget = {20, MAX_FEE + MAX_FEE / 2};
    AUTO_KEYD keyd = with_budget(&budget);
    const struct signature none = {0};
    const int64_t begun_ms = clock_ms();
    struct buf transactions[2] = {{0}}, bid CLEANUP(buf_free) = {0};
    struct lease_signing items[12];
    build(&one, &transactions[0]);
    build(&two, &transactions[1]);
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        items[i] = (struct lease_signing){.transaction = buf_bytes(&transactions[i == 1]),
            .signer = accounts[0].public_key,
            .sealed = accounts[0].sealed,
            .bid_fee_stroops = MAX_FEE,
            .bid_envelope = &bid};
    assert_int_equal(keyd_sign_leases(keyd, time_of(0), 0, items, ARRAY_LEN(items)), ERR_OK);
    assert_int_equal(items[0].result, ERR_OK);
    assert_int_equal(items[1].result, ERR_KEYD_BUDGET); /* the second transaction's fee */
    assert_memory_equal(&items[1].signature, &none, sizeof none);
    assert_int_equal(items[10].result, ERR_OK); /* the tenth: 20 signatures, as the second took none */
    if (clock_ms() - begun_ms < 40)             /* less than one signature was added */
        assert_int_equal(items[11].result, ERR_KEYD_BUDGET);
    for (size_t i = 0; i < ARRAY_LEN(transactions); i++)
        buf_free(&transactions[i]);
}

/* The transaction of the attempt, signed by its channel account. */
static void signed_inner(const struct attempt *attempt, struct buf *inner)
{
    struct buf transaction CLEANUP(buf_free) = {0};
    build(attempt, &transaction);
    const struct signature signature = signature_of(buf_bytes(&transaction), &network);
    envelope_build(buf_bytes(&transaction), &accounts[0].public_key, &signature, 1, inner);
}

static enum err bid(struct keyd *keyd, const struct buf *inner, int64_t fee_stroops, struct buf *out)
{
    struct bump_signing item = {
        .inner = buf_bytes(inner), .sealed = accounts[0].sealed, .fee_stroops = fee_stroops, .envelope = out};
    buf_clear(out);
    assert_int_equal(keyd_sign_fee_bumps(keyd, 0, &item, 1), ERR_OK);
    return item.result;
}

/* The budget is for one and a half transactions at MAX_FEE. */
TEST(a_repeated_fee_bump_is_charged_once_and_a_higher_one_for_the_difference)
{
    const struct attempt first = {"", ERR_OK, BUMP, 0, 300, .fee = MAX_FEE},
                         second = {"", ERR_OK, BUMP, 0, 300, .sequence = 1};
    const struct keyd_budget budget = {1000000, MAX_FEE + MAX_FEE / 2};
    AUTO_KEYD keyd = with_budget(&budget);
    CLEANUP(buf_free) struct buf one = {0}, two = {0}, out = {0}, again = {0};
    signed_inner(&first, &one);
    signed_inner(&second, &two);
    assert_int_equal(bid(keyd, &one, MAX_FEE / 2, &out), ERR_OK);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(bid(keyd, &one, MAX_FEE / 2, &again), ERR_OK);
        assert_true(bytes_equal(buf_bytes(&out), buf_bytes(&again)));
    }
    assert_int_equal(bid(keyd, &one, MAX_FEE, &again), ERR_OK);
    assert_int_equal(bid(keyd, &one, MAX_FEE / 2 + 1, &again), ERR_OK); /* a lower one: nothing */
    assert_int_equal(bid(keyd, &two, MAX_FEE, &again), ERR_KEYD_BUDGET);
    assert_int_equal(bid(keyd, &two, MAX_FEE / 2, &again), ERR_OK);
    assert_int_equal(bid(keyd, &two, MAX_FEE, &again), ERR_KEYD_BUDGET);
    assert_int_equal(bid(keyd, &one, MAX_FEE, &again), ERR_OK); /* charged before */
    assert_int_equal(bid(keyd, &two, MAX_FEE / 2, &again), ERR_OK);
}

/* A refused bid is not remembered as charged. */
TEST(a_fee_bump_that_was_refused_is_charged_when_it_is_repeated)
{
    const struct attempt first = {"", ERR_OK, BUMP, 0, 300, .fee = MAX_FEE};
    const struct keyd_budget budget = {1000000, MAX_FEE / 2};
    AUTO_KEYD keyd = with_budget(&budget);
    CLEANUP(buf_free) struct buf one = {0}, out = {0};
    signed_inner(&first, &one);
    for (int i = 0; i < 3; i++)
        assert_int_equal(bid(keyd, &one, MAX_FEE, &out), ERR_KEYD_BUDGET);
}

/* The answer to a fee bump is longer than the request. */
TEST(a_batch_of_the_largest_fee_bumps_is_answered)
{
    enum {
        ENTRY = 36, /* bytes of a footprint's entry */
        SIGNATURE = 72
    };
    struct bump_signing items[SIGN_BATCH_MAX];
    CLEANUP(buf_free) struct buf inner = {0}, outer = {0};
    struct attempt attempt = {"", ERR_OK, BUMP, 0, 300, .resource_fee = 5000};
    signed_inner(&attempt, &inner);
    attempt.entries = (uint32_t)((SOROBAN_ENVELOPE_MAX - SIGNATURE - inner.len) / ENTRY);
    buf_clear(&inner);
    signed_inner(&attempt, &inner);
    for (size_t i = 0; i < SIGN_BATCH_MAX; i++)
        items[i] = (struct bump_signing){.inner = buf_bytes(&inner),
            .sealed = accounts[0].sealed,
            .fee_stroops = MAX_FEE,
            .envelope = &outer};
    assert_int_equal(keyd_sign_fee_bumps(serving, 0, items, SIGN_BATCH_MAX), ERR_OK);
    for (size_t i = 0; i < SIGN_BATCH_MAX; i++)
        assert_int_equal(items[i].result, ERR_OK);
    assert_true(outer.len > SIGN_BATCH_MAX * (SOROBAN_ENVELOPE_MAX - SIGNATURE - ENTRY));
}

static int set_up(void **state)
{
    network = network_id_of(KEYD_TEST_PASSPHRASE);
    provisioning = keyd_loaded(KEYD_PROVISION);
    serving = keyd_loaded(KEYD_SERVE);
    return sodium_init() >= 0 && keyd_generate(provisioning, ARRAY_LEN(accounts), accounts) == ERR_OK ? 0
                                                                                                      : -1;
}

static int tear_down(void **state)
{
    keyd_stop(serving);
    keyd_stop(provisioning);
    return 0;
}

GROUP_FIXTURE(set_up, tear_down)
