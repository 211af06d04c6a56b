/* The balance of the distribution account: by ledgers, and by what RPCs answer. */
#include <stdatomic.h>
#include <string.h>

#include "check.h"
#include "base/clock.h"
#include "funds_watch.h"

#define RESERVE 5000000
#define COMMITTED 100
#define PATIENCE_MS 20000

static const struct public_key ours = {{1}};
static const struct funds_limits limits = {
    .payment_stroops = 20000, .low_payments = 1000, .min_payments = 100};

/* An RPC that says this about the account. */
struct liar {
    int64_t balance_stroops, reserves;
    uint32_t ledger;
    enum err e;
    unsigned index; /* of requests */
};
static atomic_uint requests[2];

static enum err accounts(void *source, const struct public_key keys[], size_t count, struct rpc_account out[],
    uint32_t *ledger, struct detail *detail)
{
    struct liar *liar = source;
    (void)keys;
    assert_int_equal(count, 1);
    requests[liar->index]++;
    *ledger = liar->ledger;
    out[0] = (struct rpc_account){
        .found = true, .balance_stroops = liar->balance_stroops, .reserves = liar->reserves};
    return liar->e == ERR_OK ? ERR_OK : detail_set(detail, liar->e, "no answer");
}

struct world {
    struct liar liars[2];
    struct funds_watch watch;
};

static void begin(struct world *world, size_t count, int give_up_ms)
{
    struct feed feeds[2];
    for (size_t i = 0; i < count; i++) {
        world->liars[i].index = (unsigned)i;
        requests[i] = 0;
        feeds[i] = (struct feed){.accounts = accounts, .source = &world->liars[i]};
    }
    funds_watch_start(&world->watch, feeds, count, &limits);
    world->watch.unconfirmed.limit_ms = give_up_ms;
    const struct funds before = {.bound = true, .account = ours, .base_reserve_stroops = RESERVE};
    funds_watch_ledger(&world->watch, COMMITTED, &before);
}

static struct account_snapshot await_read(struct world *world)
{
    struct account_snapshot read;
    for (int64_t end_ms = clock_ms() + PATIENCE_MS; !funds_watch_take(&world->watch, &read);
         clock_sleep_ms(2))
        assert_true(clock_left_ms(end_ms) > 0);
    return read;
}

static struct liar honest(void)
{
    return (struct liar){.balance_stroops = 90000000, .reserves = 2, .ledger = COMMITTED};
}

static void assert_honest(const struct account_snapshot *read)
{
    assert_int_equal(read->account.balance_stroops, 90000000);
    assert_int_equal(read->account.reserves, 2);
}

static void of_two_answers_the_one_with_more_to_spend_is_used(void **state)
{
    const struct liar lies[] = {{.balance_stroops = 0, .reserves = 2, .ledger = COMMITTED},
        {.balance_stroops = 90000000, .reserves = 18, .ledger = COMMITTED + 1},
        {.balance_stroops = 95000000, .reserves = INT64_MAX, .ledger = COMMITTED + 1}};
    for (size_t i = 0; i < 2 * sizeof lies / sizeof lies[0]; i++) {
        struct world world = {0};
        world.liars[i % 2] = honest();
        world.liars[1 - i % 2] = lies[i / 2];
        begin(&world, 2, PATIENCE_MS);
        const struct account_snapshot read = await_read(&world);
        assert_honest(&read);
        funds_watch_stop(&world.watch);
    }
}

static void a_balance_on_which_two_agree_is_used_however_low(void **state)
{
    struct world world = {0};
    world.liars[0] = world.liars[1] = (struct liar){.balance_stroops = 5, .ledger = COMMITTED};
    begin(&world, 2, PATIENCE_MS);
    assert_int_equal(await_read(&world).account.balance_stroops, 5);
    funds_watch_stop(&world.watch);
}

/* One that lags may have the balance of a time when the account had more. */
static void one_answer_is_used_only_when_no_other_RPC_has_answered_for_the_limit(void **state)
{
    for (int lags = 0; lags < 2; lags++) {
        struct world world = {0};
        struct account_snapshot read;
        world.liars[0] = (struct liar){.balance_stroops = 5, .ledger = COMMITTED};
        world.liars[1] = honest();
        world.liars[1].e = lags ? ERR_OK : ERR_RPC_UNAVAILABLE;
        world.liars[1].ledger = COMMITTED - 1;
        begin(&world, 2, 1200);
        const int64_t begun_ms = clock_ms();
        while (requests[1] == 0)
            clock_sleep_ms(2);
        assert_false(funds_watch_take(&world.watch, &read));
        read = await_read(&world);
        assert_true(clock_ms() - begun_ms >= 1100);
        assert_int_equal(read.account.balance_stroops, 5);
        funds_watch_stop(&world.watch);
    }
}

static void the_only_RPC_needs_no_other(void **state)
{
    struct world world = {0};
    world.liars[0] = honest();
    begin(&world, 1, PATIENCE_MS);
    const struct account_snapshot read = await_read(&world);
    assert_honest(&read);
    assert_int_equal(requests[0], 1);
    funds_watch_stop(&world.watch);
}

static void a_doubted_balance_is_read_until_something_as_of_its_ledger_is_known(void **state)
{
    struct world world = {0};
    world.liars[0] = world.liars[1] = honest();
    begin(&world, 2, PATIENCE_MS);
    await_read(&world);
    struct funds funds = {.bound = true,
        .account = ours,
        .known = true,
        .ledger = COMMITTED,
        .spendable_stroops = 80000000,
        .base_reserve_stroops = RESERVE,
        .doubted_ledger = COMMITTED + 1};
    world.liars[0].ledger = world.liars[1].ledger = COMMITTED + 2;
    funds_watch_ledger(&world.watch, COMMITTED + 1, &funds);
    await_read(&world);
    funds.doubted_ledger = 0;
    funds_watch_ledger(&world.watch, COMMITTED + 2, &funds); /* the read was not used */
    await_read(&world);
    funds.ledger = COMMITTED + 2;
    const unsigned before = requests[0];
    funds_watch_ledger(&world.watch, COMMITTED + 3, &funds);
    funds_watch_stop(&world.watch);
    assert_int_equal(requests[0], before);
}

/* ---- funds_step: the balance after a ledger */

#define CURSOR 100 /* the ledger of these tests is the next one */

static const struct public_key others = {{2}};

static struct funds unknown(void)
{
    return (struct funds){.bound = true, .account = ours};
}

static struct funds known(int64_t balance, uint32_t ledger)
{
    struct funds funds = {.bound = true,
        .account = ours,
        .known = true,
        .ledger = ledger,
        .balance_stroops = balance,
        .reserves = 2,
        .base_reserve_stroops = RESERVE};
    funds.spendable_stroops = funds_spendable(&funds);
    return funds;
}

static struct account_snapshot read_as_of(int64_t balance, uint32_t ledger)
{
    return (struct account_snapshot){
        .account = {.key = ours, .balance_stroops = balance, .reserves = 2}, .ledger = ledger};
}

/* Runs funds_step for a ledger that changes account (NULL: no account). */
static bool step_with(const struct funds *before, const struct ledger_account *account,
    const struct account_snapshot *read, const struct funds_limits *doubts, struct funds *after)
{
    struct ledger_account copy;
    struct ledger ledger = {.sequence = CURSOR + 1, .base_reserve_stroops = RESERVE};
    if (account != NULL) {
        copy = *account;
        ledger.accounts = &copy;
        ledger.account_count = 1;
    }
    return funds_step(before, &ledger, read, CURSOR, doubts, after);
}

static bool step(const struct funds *before, const struct ledger_account *account,
    const struct account_snapshot *read, struct funds *after)
{
    return step_with(before, account, read, NULL, after);
}

static void a_ledger_that_changes_the_account_has_all_of_its_state(void **state)
{
    const struct ledger_account changed = {
        .key = ours, .balance_stroops = 90000000, .reserves = 4, .selling_stroops = 7};
    const struct funds before[] = {unknown(), known(1, CURSOR)};
    for (size_t i = 0; i < 2; i++) {
        struct funds after;
        assert_true(step(&before[i], &changed, NULL, &after));
        assert_true(after.known);
        assert_int_equal(after.ledger, CURSOR + 1);
        assert_int_equal(after.balance_stroops, 90000000);
        assert_int_equal(after.spendable_stroops, 90000000 - 4 * RESERVE - 7);
    }
}

static void a_ledger_without_the_account_changes_nothing(void **state)
{
    const struct ledger_account changed = {.key = others, .balance_stroops = 5};
    const struct funds before = known(90000000, CURSOR), nothing = unknown();
    struct funds after;
    assert_false(step(&before, &changed, NULL, &after));
    assert_memory_equal(&after, &before, sizeof after);
    assert_false(step(&nothing, &changed, NULL, &after));
    assert_false(after.known);
}

static void a_merged_account_has_nothing_to_spend(void **state)
{
    const struct ledger_account removed = {.key = ours, .removed = true};
    const struct funds before = known(90000000, CURSOR);
    struct funds after;
    assert_true(step(&before, &removed, NULL, &after));
    assert_true(after.known);
    assert_int_equal(after.spendable_stroops, 0);
}

static void a_read_is_used_only_as_of_the_cursor_or_later(void **state)
{
    const struct funds nothing = unknown();
    struct funds after;
    for (uint32_t ledger = CURSOR; ledger <= CURSOR + 2; ledger++) {
        const struct account_snapshot read = read_as_of(90000000, ledger);
        assert_true(step(&nothing, NULL, &read, &after));
        assert_int_equal(after.ledger, ledger);
        assert_int_equal(after.spendable_stroops, 80000000);
    }
    const struct account_snapshot old = read_as_of(90000000, CURSOR - 1);
    assert_false(step(&nothing, NULL, &old, &after));
    assert_false(after.known);
}

/* A read as of this ledger or a later one has this ledger's changes; an earlier one lacks them. */
static void the_later_of_read_and_ledger_is_used(void **state)
{
    const struct ledger_account changed = {.key = ours, .balance_stroops = 50000000, .reserves = 2};
    const struct funds nothing = unknown(), ahead = known(90000000, CURSOR + 1),
                       behind = known(90000000, CURSOR);
    const struct account_snapshot at_cursor = read_as_of(90000000, CURSOR),
                                  later = read_as_of(90000000, CURSOR + 1);
    struct funds after;
    assert_true(step(&nothing, &changed, &at_cursor, &after));
    assert_int_equal(after.balance_stroops, 50000000);
    assert_true(step(&nothing, &changed, &later, &after));
    assert_int_equal(after.balance_stroops, 90000000);
    assert_false(step(&ahead, &changed, NULL, &after));
    assert_int_equal(after.balance_stroops, 90000000);
    assert_true(step(&behind, &changed, NULL, &after));
    assert_int_equal(after.balance_stroops, 50000000);
}

/* After a leader of an older version, which followed no balance, or after wrong metadata of a ledger. */
static void a_later_read_corrects_what_is_known_and_an_older_one_does_not(void **state)
{
    const struct funds before = known(90000000, CURSOR), ahead = known(90000000, CURSOR + 2);
    const struct account_snapshot later = read_as_of(70000000, CURSOR + 1),
                                  old = read_as_of(70000000, CURSOR - 1);
    struct funds after;
    assert_true(step(&before, NULL, &later, &after));
    assert_int_equal(after.spendable_stroops, 60000000);
    assert_false(step(&before, NULL, &old, &after));
    assert_false(step(&ahead, NULL, &later, &after));
    assert_int_equal(after.balance_stroops, 90000000);
}

static void a_read_of_another_account_is_ignored(void **state)
{
    struct funds before = unknown(), after;
    const struct account_snapshot read = read_as_of(90000000, CURSOR);
    before.account = others;
    assert_false(step(&before, NULL, &read, &after));
    before = (struct funds){.bound = false};
    assert_false(step(&before, NULL, &read, &after));
    assert_false(after.known);
}

static void a_changed_base_reserve_counts_at_once(void **state)
{
    struct funds before = known(90000000, CURSOR), after;
    before.base_reserve_stroops = 1;
    before.spendable_stroops = funds_spendable(&before);
    assert_true(step(&before, NULL, NULL, &after));
    assert_int_equal(after.spendable_stroops, 80000000);
    assert_int_equal(after.ledger, CURSOR);
}

#define LEAST (2 * RESERVE + 100 * 20000) /* enough for leases */

static void a_claim_that_is_too_low_for_leases_waits_for_a_read(void **state)
{
    const struct funds before[] = {known(90000000, CURSOR), unknown()};
    const struct ledger_account low = {.key = ours, .balance_stroops = LEAST - 1, .reserves = 2},
                                removed = {.key = ours, .removed = true},
                                least = {.key = ours, .balance_stroops = LEAST, .reserves = 2};
    const struct account_snapshot at_cursor = read_as_of(LEAST - 1, CURSOR),
                                  later = read_as_of(LEAST - 1, CURSOR + 1);
    struct funds after;
    for (size_t i = 0; i < 2; i++) {
        assert_false(step_with(&before[i], &low, NULL, &limits, &after));
        assert_int_equal(after.doubted_ledger, CURSOR + 1);
        assert_true(after.known == before[i].known);
        assert_int_equal(after.spendable_stroops, before[i].spendable_stroops);
        assert_int_equal(after.ledger, before[i].ledger);
        assert_false(step_with(&before[i], &removed, NULL, &limits, &after));
        assert_int_equal(after.doubted_ledger, CURSOR + 1);
        assert_true(step_with(&before[i], &least, NULL, &limits, &after));
        assert_int_equal(after.doubted_ledger, 0);
        assert_int_equal(after.spendable_stroops, 100 * 20000);
        /* what was read counts */
        assert_true(step_with(&before[i], &low, &later, &limits, &after));
        assert_int_equal(after.doubted_ledger, 0);
        assert_int_equal(after.balance_stroops, LEAST - 1);
        assert_int_equal(after.ledger, CURSOR + 1);
    }
    assert_false(step_with(&before[0], &removed, &at_cursor, &limits, &after)); /* as of the same ledger */
    assert_int_equal(after.balance_stroops, LEAST - 1);
    assert_int_equal(after.doubted_ledger, CURSOR + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_answers_the_one_with_more_to_spend_is_used),
        cmocka_unit_test(a_balance_on_which_two_agree_is_used_however_low),
        cmocka_unit_test(one_answer_is_used_only_when_no_other_RPC_has_answered_for_the_limit),
        cmocka_unit_test(the_only_RPC_needs_no_other),
        cmocka_unit_test(a_doubted_balance_is_read_until_something_as_of_its_ledger_is_known),
        cmocka_unit_test(a_ledger_that_changes_the_account_has_all_of_its_state),
        cmocka_unit_test(a_ledger_without_the_account_changes_nothing),
        cmocka_unit_test(a_merged_account_has_nothing_to_spend),
        cmocka_unit_test(a_read_is_used_only_as_of_the_cursor_or_later),
        cmocka_unit_test(the_later_of_read_and_ledger_is_used),
        cmocka_unit_test(a_later_read_corrects_what_is_known_and_an_older_one_does_not),
        cmocka_unit_test(a_read_of_another_account_is_ignored),
        cmocka_unit_test(a_changed_base_reserve_counts_at_once),
        cmocka_unit_test(a_claim_that_is_too_low_for_leases_waits_for_a_read),
    };
    return cmocka_run_group_tests_name("ingest/funds_watch", tests, NULL, NULL);
}
