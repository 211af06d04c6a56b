/*
 * DL4: whatever bounds a client sends, in time, in ledgers or by sequence number, an accepted transaction can
 * not be included after its lease has ended, and a refused one takes no account. The rule is implemented a
 * second time here and compared, with random values around every limit. FAIRWAY_SEED repeats a run,
 * FAIRWAY_SIZE=long has 10^6 cases.
 */
#include "support/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define QUICK_POLICY 20000
#define QUICK_GRANTS 2048
#define LONG_POLICY 1000000
#define LONG_GRANTS 50000
#define BATCH 16

struct bounds {
    uint32_t timeout_s;
    struct sample_v2 v2;
};

static uint64_t next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static uint64_t draw_time(uint64_t *random, uint64_t now_s)
{
    const uint64_t limits[] = {0, 0, 0, 1, now_s, now_s + LEASE_SECONDS_MIN, now_s + LEASE_SECONDS_DEFAULT,
        now_s + LEASE_SECONDS_MAX, INT64_MAX, UINT64_MAX - 1, now_s + next(random) % 400, next(random)};
    uint64_t limit = limits[next(random) % ARRAY_LEN(limits)];
    return limit == 0 ? 0 : limit - 1 + next(random) % 3;
}

static uint32_t draw_ledger(uint64_t *random, uint32_t tip)
{
    const uint32_t limits[] = {0, 0, 0, 1, tip, tip + LEASE_LEDGERS_MIN, tip + LEASE_SECONDS_MIN, tip + 60,
        tip + LEASE_SECONDS_MAX, UINT32_MAX - 1, (uint32_t)next(random)};
    uint32_t limit = limits[next(random) % ARRAY_LEN(limits)];
    return limit == 0 ? 0 : limit - 1 + (uint32_t)(next(random) % 3);
}

static struct bounds draw_bounds(uint64_t *random, uint64_t now_s, uint32_t tip)
{
    struct bounds bounds = {
        .timeout_s =
            next(random) % 2 == 0
                ? 0
                : LEASE_SECONDS_MIN + (uint32_t)(next(random) % (LEASE_SECONDS_MAX - LEASE_SECONDS_MIN + 1)),
        .v2 = {.times = next(random) % 4 != 0,
            .ledgers = next(random) % 3 == 0,
            .min_sequence = next(random) % 16 == 0,
            .min_sequence_number = (int64_t)(next(random) % 3),
            .min_sequence_age_s = next(random) % 16 == 0 ? next(random) % 3 : 0,
            .min_sequence_ledger_gap = next(random) % 16 == 0 ? (uint32_t)(next(random) % 3) : 0}};
    if (bounds.v2.times) {
        bounds.v2.max_time_s = draw_time(random, now_s);
        bounds.v2.min_time_s = next(random) % 2 == 0 ? 0 : draw_time(random, now_s);
    }
    if (bounds.v2.ledgers) {
        bounds.v2.max_ledger = draw_ledger(random, tip);
        bounds.v2.min_ledger = next(random) % 2 == 0 ? 0 : draw_ledger(random, tip);
    }
    return bounds;
}

/* Returns the latest max time that the rule allows at now_s, or 0 if it refuses the request. With 128 bits
 * nothing overflows. */
static uint64_t expected(const struct bounds *bounds, uint64_t now_s, uint32_t tip)
{
    __extension__ typedef unsigned __int128 wide;
    const struct sample_v2 *v2 = &bounds->v2;
    wide end_s = (wide)now_s + 300;
    if (v2->max_time_s == 0 && bounds->timeout_s == 0)
        end_s = (wide)now_s + 60;
    if (v2->max_time_s != 0 && v2->max_time_s < end_s)
        end_s = v2->max_time_s;
    if (bounds->timeout_s != 0 && (wide)now_s + bounds->timeout_s < end_s)
        end_s = (wide)now_s + bounds->timeout_s;
    if (v2->min_sequence || v2->min_sequence_age_s != 0 || v2->min_sequence_ledger_gap != 0)
        return 0;
    if (end_s < (wide)now_s + 20 || v2->min_time_s > end_s)
        return 0;
    if (v2->max_ledger != 0 && (v2->max_ledger <= (wide)tip + 2 || v2->min_ledger >= v2->max_ledger))
        return 0;
    if (v2->min_ledger > (wide)tip + (end_s - now_s))
        return 0;
    return (uint64_t)end_s;
}

static enum err judge(struct asked *asked, const struct bounds *bounds, const struct policy_limits *limits,
    struct detail *detail)
{
    *asked = (struct asked){.sample = SAMPLE};
    add_payment(&asked->sample, PLAIN, CLIENT);
    set_v2(&asked->sample, bounds->v2);
    enum err e = sample_decode(&asked->sample, detail);
    if (e != ERR_OK)
        fail_msg("%s", detail->text);
    asked->request.envelope = asked->sample.view;
    asked->request.timeout_s = bounds->timeout_s;
    snprintf(asked->request.request_id, sizeof asked->request.request_id, "request");
    asked->grant = (struct grant){.request = &asked->request};
    return policy_check(&asked->request.envelope, limits, &asked->request.named, detail);
}

static void show(const struct bounds *bounds, uint64_t now_s, uint32_t tip)
{
    const struct sample_v2 *v2 = &bounds->v2;
    print_error("now %" PRIu64 " tip %" PRIu32 ": time %" PRIu64 " to %" PRIu64 ", timeout %" PRIu32
                ", ledger %" PRIu32 " to %" PRIu32 ", sequence %d age %" PRIu64 " gap %" PRIu32 "\n",
        now_s, tip, v2->min_time_s, v2->max_time_s, bounds->timeout_s, v2->min_ledger, v2->max_ledger,
        v2->min_sequence, v2->min_sequence_age_s, v2->min_sequence_ledger_gap);
}

static bool is_long(void)
{
    const char *size = getenv("FAIRWAY_SIZE");
    return size != NULL && strcmp(size, "long") == 0;
}

static uint64_t seed(void)
{
    const char *text = getenv("FAIRWAY_SEED");
    uint64_t random = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);
    print_message("FAIRWAY_SEED=%" PRIu64 "\n", random);
    return random | 1;
}

static void DL4_the_policy_accepts_exactly_the_requests_that_expire_with_their_lease(void **state)
{
    (void)state;
    static const struct policy_limits limits = {.base_fee_stroops = 100};
    uint64_t random = seed();
    const size_t wanted = is_long() ? LONG_POLICY : QUICK_POLICY;
    size_t accepted = 0;
    for (size_t i = 0; i < wanted; i++) {
        struct asked asked;
        struct detail detail = {0};
        uint64_t max_time_s = 0, now_s = 1700000000 + next(&random) % 1000;
        uint32_t tip = 50000000 + (uint32_t)(next(&random) % 1000);
        const struct bounds bounds = draw_bounds(&random, now_s, tip);
        enum err e = judge(&asked, &bounds, &limits, &detail);
        if (e == ERR_OK)
            e = policy_max_time(
                &asked.request.envelope.preconditions, now_s, bounds.timeout_s, tip, &max_time_s, &detail);
        uint64_t rule_s = expected(&bounds, now_s, tip);
        if ((e == ERR_OK) != (rule_s != 0) || (e == ERR_OK && max_time_s != rule_s)) {
            show(&bounds, now_s, tip);
            fail_msg("%s %s, max time %" PRIu64 ", by the rule %" PRIu64, err_code(e), detail.text,
                max_time_s, rule_s);
        }
        accepted += e == ERR_OK;
        asked_wipe(&asked);
    }
    print_message("%zu preconditions: %zu accepted, %zu refused\n", wanted, accepted, wanted - accepted);
    assert_in_range(accepted, wanted / 20, wanted - wanted / 20);
}

struct tally {
    size_t granted, refused;
};

/* Checks the result of a grant against the rule at each second of the grant: the clock may have advanced. */
static void check(const struct bounds *bounds, const struct grant *grant, uint64_t begun_s, uint64_t ended_s,
    uint32_t tip, struct tally *tally)
{
    bool as_ruled = false;
    uint64_t max_time_s = grant->state == GRANT_DONE ? grant->lease.max_time_s : 0;
    for (uint64_t now_s = begun_s; now_s <= ended_s; now_s++)
        as_ruled |= expected(bounds, now_s, tip) == max_time_s;
    if (!as_ruled || (grant->state != GRANT_DONE && grant->state != GRANT_REFUSED)) {
        show(bounds, begun_s, tip);
        fail_msg("state %d, max time %" PRIu64, grant->state, max_time_s);
    }
    if (grant->state == GRANT_REFUSED)
        assert_int_equal(grant->error, ERR_INVALID_TRANSACTION);
    *(grant->state == GRANT_DONE ? &tally->granted : &tally->refused) += 1;
}

/* Checks that the bounds in the signed envelope are those of the lease and of the client. */
static void check_signed(const struct bounds *bounds, const struct grant *grant)
{
    struct envelope envelope;
    struct detail detail = {0};
    assert_int_equal(envelope_decode(buf_bytes(&grant->lease.envelope), &envelope, &detail), ERR_OK);
    assert_true(envelope.preconditions.max_time_s == grant->lease.max_time_s);
    assert_int_equal(envelope.preconditions.max_ledger, bounds->v2.max_ledger);
    assert_int_equal(envelope.preconditions.min_ledger, bounds->v2.min_ledger);
    assert_true(envelope.preconditions.min_time_s == bounds->v2.min_time_s);
}

static uint64_t database_now(const struct test_pool *pool)
{
    return (uint64_t)test_db_number(&pool->test, "SELECT greatest(close_time, floor(extract(epoch FROM "
                                                 "clock_timestamp()))::int8) FROM fairway.cursor");
}

static void grant_some(struct test_pool *pool, uint64_t *random, struct tally *tally)
{
    struct asked asked[BATCH];
    struct bounds bounds[BATCH];
    struct grant *grants[BATCH];
    const struct lease *leases[BATCH];
    struct detail detail = {0};
    size_t count = 0, granted = 0;
    uint64_t begun_s = database_now(pool);
    uint32_t tip = (uint32_t)test_db_number(&pool->test, "SELECT sequence FROM fairway.cursor");
    while (count < BATCH) {
        bounds[count] = draw_bounds(random, begun_s, tip);
        if (judge(&asked[count], &bounds[count], &pool->settings.limits, &detail) == ERR_OK) {
            grants[count] = &asked[count].grant;
            count++;
            continue;
        }
        asked_wipe(&asked[count]);
        assert_true(expected(&bounds[count], begun_s, tip) == 0);
    }
    assert_int_equal(lease_grant(pool->db, pool->keyd, &pool->settings, grants, count, &detail), ERR_OK);
    uint64_t ended_s = database_now(pool);
    for (size_t i = 0; i < count; i++) {
        check(&bounds[i], grants[i], begun_s, ended_s, tip, tally);
        if (grants[i]->state != GRANT_DONE)
            continue;
        check_signed(&bounds[i], grants[i]);
        leases[granted++] = &grants[i]->lease;
    }
    assert_int_equal(leased_accounts(pool), granted);
    test_pool_include(pool->db, leases, granted);
    for (size_t i = 0; i < count; i++)
        asked_wipe(&asked[i]);
}

static void DL4_a_grant_signs_exactly_those_bounds_and_a_refusal_takes_no_account(void **state)
{
    (void)state;
    struct test_pool pool;
    struct tally tally = {0};
    uint64_t random = seed();
    const size_t wanted = is_long() ? LONG_GRANTS : QUICK_GRANTS;
    test_pool_open(&pool, BATCH);
    while (tally.granted + tally.refused < wanted)
        grant_some(&pool, &random, &tally);
    print_message("%zu leases, %zu refusals, each by the rule\n", tally.granted, tally.refused);
    assert_true(tally.granted > wanted / 20 && tally.refused > wanted / 20);
    assert_int_equal(lease_rows(&pool), tally.granted);
    assert_int_equal(test_db_number(&pool.test, "SELECT count(*) FROM fairway.lease_history WHERE max_time > "
                                                "extract(epoch FROM granted_at) + 301"),
        0);
    test_pool_close(&pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DL4_the_policy_accepts_exactly_the_requests_that_expire_with_their_lease),
        cmocka_unit_test(DL4_a_grant_signs_exactly_those_bounds_and_a_refusal_takes_no_account),
    };
    return cmocka_run_group_tests_name("pool/lease bounds", tests, test_pg_start, test_pg_stop);
}
