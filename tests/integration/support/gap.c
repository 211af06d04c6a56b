#include "gap.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "take_lead.h"

struct gap_world *gap_world_new(void)
{
    struct gap_world *world = NEW(struct gap_world);
    struct ledger_committed committed;
    world->network = network_id_of(GAP_NETWORK);
    world->db = test_db_new(TEST_DB_MIGRATED);
    world->feed = ledger_feed_new(GAP_CURSOR, 60);
    world->lead = (struct lead){
        .db = test_db_open(&world->db), .network = world->network, .locks = lock_numbers_of(&world->network)};
    struct rpc_ledger first = ledger_feed_ledger(world->feed, GAP_CURSOR);
    const struct feed feed = ledger_feed_source(world->feed);
    world->rpcs = rpcs_start_feeds(&feed, 1, &(struct rpcs_settings){.ledger_ms = 1000});
    world->follow = (struct follow){.rpcs = world->rpcs, .network = world->network, .ledger_ms = 1000};
    take_lead(&world->lead);
    assert_int_equal(commit_received(&world->lead, &first, &committed, NULL), ERR_OK);
    return world;
}

void gap_world_free(struct gap_world *world)
{
    lead_free(&world->lead);
    follow_close(&world->follow);
    rpcs_stop(world->rpcs);
    ledger_feed_free(world->feed);
    test_db_drop(&world->db);
    free(world);
}

void gap_account(struct gap_world *world, unsigned n, const char *state)
{
    account_row(&world->db, n, state);
    if (strcmp(state, "creating") != 0)
        ledger_feed_put(world->feed, &(struct built_account){.key = built_key(n), .sequence = 50});
}

void gap_leased(struct gap_world *world, unsigned n)
{
    gap_account(world, n, "active");
    lease_row(&world->db, n, "", 0);
}

void gap_leased_many(struct gap_world *world, unsigned count)
{
    leased_rows(&world->db, 1, count);
    for (unsigned n = 1; n <= count; n++)
        ledger_feed_put(world->feed, &(struct built_account){.key = built_key(n), .sequence = 50});
}

void gap_close_ledger(struct gap_world *world, unsigned n, int64_t sequence, int32_t code)
{
    const struct built_transaction transaction = {.hash = built_hash(n), .code = code};
    const struct built_account account = {.key = built_key(n), .sequence = sequence};
    ledger_feed_close(world->feed, &(struct built_ledger){.transactions = &transaction,
                                       .transaction_count = code != BY_NOBODY,
                                       .accounts = &account,
                                       .account_count = 1});
}

void gap_drop_ledgers(struct gap_world *world, unsigned ledgers, unsigned keep)
{
    for (unsigned i = 0; i < ledgers; i++)
        ledger_feed_close(world->feed, NULL);
    ledger_feed_drop_below(world->feed, ledger_feed_latest(world->feed) + 1 - keep);
}

enum err gap_world_recover(struct gap_world *world)
{
    struct ledger_committed committed;
    world->detail = (struct detail){0};
    enum err e = gap_recover(&world->lead, &world->follow, false, &committed, &world->detail);
    world->settled = committed.settled;
    return e;
}

enum err gap_world_follow(struct gap_world *world)
{
    struct ledger_committed committed;
    struct rpc_ledger next = ledger_feed_ledger(world->feed, world->lead.cursor.sequence + 1);
    enum err e = commit_received(&world->lead, &next, &committed, &world->detail);
    world->settled = committed.settled;
    return e;
}

int64_t gap_count(struct gap_world *world, const char *where)
{
    AUTO_FREE char *sql =
        mem_format("SELECT count(*) FROM fairway.channel_accounts a LEFT JOIN fairway.lease_history"
                   " l ON l.account = a.public_key WHERE %s",
            where);
    return test_db_number(&world->db, sql);
}

int64_t gap_cursor(struct gap_world *world)
{
    return test_db_number(&world->db, "SELECT sequence FROM fairway.cursor");
}

bool gap_grants_allowed(struct gap_world *world)
{
    return test_db_number(&world->db, "SELECT grants_allowed::int::int8 FROM fairway.cursor") == 1;
}

int64_t gap_fingerprint(struct gap_world *world)
{
    return test_db_number(&world->db,
        "SELECT hashtextextended(coalesce((SELECT string_agg(a::text, ',' ORDER BY a.public_key)"
        " FROM fairway.channel_accounts a), '') || coalesce((SELECT string_agg(l::text, ',' ORDER BY l.hash)"
        " FROM fairway.leases l), '') || coalesce((SELECT string_agg(r::text, ',' ORDER BY r.hash)"
        " FROM fairway.lease_results r), '') || coalesce((SELECT string_agg(p::text, ',' ORDER BY p.id)"
        " FROM fairway.provisioning p), '') || (SELECT count(*) FROM fairway.ledgers)"
        " || (SELECT sequence FROM fairway.cursor), 0)");
}
