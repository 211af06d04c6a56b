/* DR4: a feed that contradicts itself writes nothing; tests/unit/ingest/test_cursor.c has every ledger that
 * is refused. DR5: catching up settles each lease with the ledger that decides it. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "support/gap.h"
#include "support/take_lead.h"
#include "slowness.h"

#define TX_SUCCESS 0
#define PATIENCE_MS 240000

static int set_up(void **state)
{
    *state = gap_world_new();
    return 0;
}

static int tear_down(void **state)
{
    gap_world_free(*state);
    return 0;
}

/* A ledger of the test, with its correct hash. */
struct forged {
    struct buf meta;
    struct rpc_ledger named;
};

static struct forged forge(const struct built_ledger *ledger)
{
    struct forged forged = {0};
    ledger_build(ledger, &forged.meta, &forged.named.hash);
    forged.named.sequence = ledger->sequence;
    forged.named.meta = buf_bytes(&forged.meta);
    return forged;
}

static void forged_free(struct forged *forged)
{
    buf_free(&forged->meta);
}

static void refused(struct gap_world *world, const struct rpc_ledger *named, const char *word)
{
    struct ledger_committed committed;
    struct detail detail = {0};
    int64_t before = gap_fingerprint(world);
    enum err e = commit_received(&world->lead, named, &committed, &detail);
    if (e != ERR_LEDGER_MISMATCH || strstr(detail.text, word) == NULL)
        fail_msg("%s: \"%s\" does not contain \"%s\"", err_code(e), detail.text, word);
    assert_true(gap_fingerprint(world) == before);
}

static void accepted(struct gap_world *world, const struct rpc_ledger *named)
{
    struct ledger_committed committed;
    struct detail detail = {0};
    if (commit_received(&world->lead, named, &committed, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

TEST(DR4_a_second_ledger_of_the_same_number_writes_nothing)
{
    struct gap_world *world = *state;
    gap_leased(world, 1);
    const struct built_transaction ours = {.hash = built_hash(1)};
    const struct built_account account = {.key = built_key(1), .sequence = 51};
    const uint64_t close_time_s = world->lead.cursor.close_time_s + 5;
    const struct hash link = world->lead.cursor.hash;
    struct forged with CLEANUP(
        forged_free) = forge(&(struct built_ledger){.meta_version = 2,
        .sequence = 101,
        .previous_hash = link,
        .close_time_s = close_time_s,
        .transactions = &ours,
        .transaction_count = 1,
        .accounts = &account,
        .account_count = 1}),
        without CLEANUP(forged_free) = forge(&(struct built_ledger){
            .meta_version = 2, .sequence = 101, .previous_hash = link, .close_time_s = close_time_s});
    accepted(world, &without.named);
    refused(world, &with.named, "ledger 102 is due");
    assert_int_equal(gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"), 1);
    /* a ledger linked to the second one is not linked to the first */
    struct forged next CLEANUP(forged_free) = forge(&(struct built_ledger){.meta_version = 2,
        .sequence = 102,
        .previous_hash = with.named.hash,
        .close_time_s = close_time_s + 5,
        .transactions = &ours,
        .transaction_count = 1});
    refused(world, &next.named, "it does not follow from the last committed one");
    assert_int_equal(gap_count(world, "l.settled_at IS NULL AND a.lease_hash = l.hash"), 1);
}

static struct ingest *start(struct gap_world *world)
{
    struct ingest *ingest;
    const struct feed feed = ledger_feed_source(world->feed);
    const struct ingest_settings settings = {.database_url = world->db.url,
        .feed = &feed,
        .network = world->network,
        .poll_ms = 20,
        .ledger_ms = 5000,
        .retention_s = 3600};
    assert_int_equal(ingest_start(&settings, &ingest, NULL), ERR_OK);
    return ingest;
}

static void await_cursor(struct gap_world *world, uint32_t sequence)
{
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); gap_cursor(world) != sequence; clock_sleep_ms(20))
        if (clock_left_ms(end) == 0)
            fail_msg("the cursor is at %lld", (long long)gap_cursor(world));
}

/* An hour of ledgers (long: twelve), a second apart here. A third of the leases is included in one of them, a
 * third expires, and a third is still open at the end. */
TEST(DR5_catching_up_settles_each_lease_with_the_ledger_that_decides_it)
{
    struct gap_world *world = *state;
    const char *size = getenv("FAIRWAY_SIZE");
    const unsigned hours = size != NULL && strcmp(size, "long") == 0 ? 12 : 1, ledgers = 720 * hours,
                   leases = 90 * hours;
    lead_drop(&world->lead);
    gap_leased_many(world, leases);
    /* slot 3k+1 expires with ledger 101 + 24k; slot 3k+2 is included in ledger 101 + 24k */
    test_db_exec(
        &world->db, TEST_CHANGE_LEASES(
                        "max_time = n.max_time FROM (SELECT a.lease_hash, c.close_time + CASE a.slot % 3"
                        "   WHEN 1 THEN 8 * (a.slot - 1) ELSE 100000 END AS max_time"
                        "   FROM fairway.channel_accounts a, fairway.cursor c) n WHERE n.lease_hash = hash"));
    for (unsigned i = 0; i < ledgers; i++)
        if (i % 24 == 0 && i / 24 < leases / 3)
            gap_close_ledger(world, 3 * (i / 24) + 2, 51, i % 48 == 0 ? TX_SUCCESS : -1);
        else
            ledger_feed_close(world->feed, NULL);
    struct ingest *ingest = start(world);
    await_cursor(world, GAP_CURSOR + ledgers);
    ingest_stop(ingest);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.ledgers"), ledgers + 1);
    assert_int_equal(gap_count(world, "a.slot % 3 = 2 AND l.result IN ('confirmed', 'failed')"
                                      " AND l.ledger = 101 + 8 * (a.slot - 2) AND a.sequence = 51"
                                      " AND a.sequence_ledger = l.ledger AND a.lease_hash IS NULL"),
        leases / 3);
    assert_int_equal(gap_count(world, "a.slot % 3 = 1 AND l.result = 'expired'"
                                      " AND l.ledger = 101 + 8 * (a.slot - 1) AND a.lease_hash IS NULL"),
        leases / 3);
    assert_int_equal(
        gap_count(world, "a.slot % 3 = 0 AND l.settled_at IS NULL AND a.lease_hash = l.hash"), leases / 3);
    /* one transaction wrote the end of the lease and its ledger */
    assert_int_equal(
        test_db_number(&world->db, "SELECT count(*) FROM fairway.lease_results l JOIN fairway.ledgers g"
                                   " ON g.sequence = l.ledger WHERE l.xmin::text = g.xmin::text"),
        2 * leases / 3);
    assert_int_equal(gap_count(world, "a.state <> 'active'"), 0);
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
