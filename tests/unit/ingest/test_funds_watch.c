/* funds_watch: which of the answers of several RPCs is used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>
#include <cmocka.h>

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
    assert_int_equal(funds_watch_start(&world->watch, feeds, count, &limits), 0);
    world->watch.unconfirmed.limit_ms = give_up_ms;
    const struct funds unknown = {.bound = true, .account = ours, .base_reserve_stroops = RESERVE};
    funds_watch_ledger(&world->watch, COMMITTED, &unknown);
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
    (void)state;
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
    (void)state;
    struct world world = {0};
    world.liars[0] = world.liars[1] = (struct liar){.balance_stroops = 5, .ledger = COMMITTED};
    begin(&world, 2, PATIENCE_MS);
    assert_int_equal(await_read(&world).account.balance_stroops, 5);
    funds_watch_stop(&world.watch);
}

/* One that lags may have the balance of a time when the account had more. */
static void one_answer_is_used_only_when_no_other_RPC_has_answered_for_the_limit(void **state)
{
    (void)state;
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
    (void)state;
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
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_answers_the_one_with_more_to_spend_is_used),
        cmocka_unit_test(a_balance_on_which_two_agree_is_used_however_low),
        cmocka_unit_test(one_answer_is_used_only_when_no_other_RPC_has_answered_for_the_limit),
        cmocka_unit_test(the_only_RPC_needs_no_other),
        cmocka_unit_test(a_doubted_balance_is_read_until_something_as_of_its_ledger_is_known),
    };
    return cmocka_run_group_tests_name("ingest/funds_watch", tests, NULL, NULL);
}
