/*
 * What the metadata of a ledger claims about accounts is covered by no hash. Whatever an RPC invents there
 * changes nothing and costs no read.
 */
#include "check.h"

#include "base/mem.h"
#include "support/gap.h"

enum {
    LEASED = 1,
    IDLE,
    RETIRING,
    CREATING,
    ACCOUNTS = CREATING
};

static int set_up(void **state)
{
    struct gap_world *world = gap_world_new();
    gap_leased(world, LEASED);
    gap_account(world, IDLE, "active");
    gap_account(world, RETIRING, "retiring");
    gap_account(world, CREATING, "creating");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    gap_world_free(*state);
    return 0;
}

/* A lie about one account. */
static const struct lie {
    const char *what;
    struct built_account claim; /* key is not used */
} lies[] = {
    {"a sequence number above", {.sequence = 60}},
    {"the lease's sequence number", {.sequence = 51}},
    {"a sequence number below", {.sequence = 49}},
    {"another signer", {.sequence = 50, .foreign_signer = true}},
    {"a removal", {.removed = true}},
    {"a creation", {.sequence = (int64_t)101 << 32, .created = true}},
};

static void close_with(struct gap_world *world, const struct lie *lie)
{
    struct built_account claims[ACCOUNTS];
    for (unsigned n = 1; n <= ACCOUNTS; n++) {
        claims[n - 1] = lie->claim;
        claims[n - 1].key = built_key(n);
        claims[n - 1].invented = true;
    }
    ledger_feed_close(world->feed, &(struct built_ledger){.accounts = claims, .account_count = ACCOUNTS});
}

static void assert_unchanged(struct gap_world *world, const struct lie *lie)
{
    const int64_t leases = gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"),
                  idle = gap_count(world, "a.state = 'active' AND a.sequence = 50 AND a.lease_hash IS NULL"),
                  retiring = gap_count(world, "a.state = 'retiring' AND a.sequence = 50"),
                  creating = gap_count(world, "a.state = 'creating' AND a.sequence IS NULL");
    if (leases != 1 || idle != 1 || retiring != 1 || creating != 1)
        fail_msg("%s changed something", lie->what);
}

TEST(an_invented_change_of_an_account_changes_nothing_and_costs_no_read)
{
    struct gap_world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        const unsigned before = ledger_feed_requests(world->feed);
        close_with(world, &lies[i]);
        if (gap_world_follow(world) != ERR_OK)
            fail_msg("%s: %s", lies[i].what, world->detail.text);
        assert_int_equal(world->settled.quarantined + world->settled.released, 0);
        assert_int_equal(ledger_feed_requests(world->feed), before);
        assert_unchanged(world, &lies[i]);
    }
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
