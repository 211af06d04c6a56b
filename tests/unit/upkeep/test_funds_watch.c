/* The balance of the distribution account, by what RPCs answer. */
#include <stdatomic.h>

#include "check.h"
#include "base/clock.h"
#include "base/deadlines.h"
#include "upkeep/funds_watch.h"

#define RESERVE 5000000
#define COMMITTED 100
#define PATIENCE_MS 20000

static const struct public_key ours = {{1}};
static const struct funds_limits limits = {
    .payment_stroops = 20000, .low_payments = 1000, .min_payments = 100};

/* An RPC that says this about the account. */
struct said {
    int64_t balance_stroops, reserves;
    uint32_t ledger;
    enum err e;
};
static atomic_uint requests;

static enum err accounts(void *source, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    struct said *said = source;
    assert_int_equal(count, 1);
    requests++;
    *ledger = said->ledger;
    out[0] = (struct account_entry){
        .key = keys[0], .balance_stroops = said->balance_stroops, .reserves = said->reserves};
    return said->e == ERR_OK ? ERR_OK : detail_set(detail, said->e, "no answer");
}

struct world {
    struct said said;
    struct funds_watch watch;
};

static void begin(struct world *world)
{
    const struct feed feed = {.accounts = accounts, .source = &world->said};
    requests = 0;
    funds_watch_start(&world->watch, &feed, &limits);
    const struct funds before = {.bound = true, .account = ours, .base_reserve_stroops = RESERVE};
    funds_watch_ledger(&world->watch, &before);
}

static struct account_snapshot await_read(struct world *world)
{
    struct account_snapshot read;
    for (int64_t end_ms = clock_ms() + PATIENCE_MS; !funds_watch_take(&world->watch, &read);
         clock_sleep_ms(2))
        assert_true(clock_left_ms(end_ms) > 0);
    return read;
}

static struct said honest(void)
{
    return (struct said){.balance_stroops = 90000000, .reserves = 2, .ledger = COMMITTED};
}

static void assert_honest(const struct account_snapshot *read)
{
    assert_int_equal(read->account.balance_stroops, 90000000);
    assert_int_equal(read->account.reserves, 2);
}

TEST(the_account_is_read_once_when_its_balance_is_not_known)
{
    struct world world = {0};
    world.said = honest();
    begin(&world);
    const struct account_snapshot read = await_read(&world);
    assert_honest(&read);
    assert_int_equal(requests, 1);
    funds_watch_stop(&world.watch);
}

TEST(after_an_error_the_next_ledger_asks_again)
{
    struct world world = {.said = {.e = ERR_RPC_UNAVAILABLE}};
    begin(&world);
    for (const int64_t end_ms = clock_ms() + PATIENCE_MS; requests == 0; clock_sleep_ms(2))
        assert_true(clock_left_ms(end_ms) > 0);
    clock_sleep_ms(50);
    assert_int_equal(requests, 1);
    world.said = honest();
    funds_watch_ledger(&world.watch, &(struct funds){.bound = true, .account = ours});
    const struct account_snapshot read = await_read(&world);
    assert_honest(&read);
    funds_watch_stop(&world.watch);
}

TEST(the_balance_is_read_again_after_a_while)
{
    struct world world = {0};
    world.said = honest();
    begin(&world);
    await_read(&world);
    const struct funds funds = {.bound = true,
        .account = ours,
        .known = true,
        .ledger = COMMITTED,
        .spendable_stroops = 80000000,
        .base_reserve_stroops = RESERVE};
    world.watch.reread_ms = clock_ms() + PATIENCE_MS;
    funds_watch_ledger(&world.watch, &funds);
    clock_sleep_ms(50);
    assert_int_equal(requests, 1);
    const int64_t before_ms = world.watch.reread_ms = clock_ms();
    funds_watch_ledger(&world.watch, &funds);
    await_read(&world);
    assert_int_equal(requests, 2);
    assert_in_range(world.watch.reread_ms, before_ms + FUNDS_REREAD_MS, clock_ms() + FUNDS_REREAD_MS);
    funds_watch_stop(&world.watch);
}
