/*
 * TRUSTED_VALIDATORS: whose signatures count; the file is read again. What a signed ledger contradicts is
 * corrected, or held and quarantined. (What proves a ledger: test_follow.c.)
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/ingest/refute.h"
#include "base/clock.h"
#include "base/mem.h"
#include "ingest/ingest.h"
#include "pool/lease_lookup.h"
#include "support/take_lead.h"
#include "slowness.h"
#include "support/gap.h"

#define LEASED 1
#define IDLE 2

struct world {
    struct gap_world *gap;
    char path[32];
    struct built_ledger next; /* after the cursor */
    struct buf meta;
    struct rpc_ledger received;
    struct ledger_committed committed;
    struct detail detail;
};

static void write_file(struct world *world, const struct public_key *key)
{
    char address[ADDRESS_SIZE];
    address_encode(key, address);
    FILE *file = fopen(world->path, "w");
    if (file == NULL || fprintf(file, "# test\n\nThe tests %s\n", address) < 0 || fclose(file) != 0)
        abort();
}

static int set_up(void **state)
{
    struct world *world = NEW(struct world);
    const struct public_key node = built_validator();
    struct detail detail = {0};
    strcpy(world->path, "/tmp/fairway-trust-XXXXXX");
    close(mkstemp(world->path));
    write_file(world, &node);
    world->gap = gap_world_new();
    gap_leased(world->gap, LEASED);
    gap_account(world->gap, IDLE, "active");
    struct trust *trust = &world->gap->follow.trust;
    if (trust_open(world->path, &world->gap->network, trust, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    world->gap->lead.ledger_ms = 1000;
    const struct cursor *cursor = &world->gap->lead.cursor;
    world->next = (struct built_ledger){.meta_version = 1,
        .sequence = cursor->sequence + 1,
        .previous_hash = cursor->hash,
        .close_time_s = cursor->close_time_s + 1};
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    gap_world_free(world->gap);
    buf_free(&world->meta);
    unlink(world->path);
    free(world);
    return 0;
}

static enum err commit(struct world *world)
{
    buf_clear(&world->meta);
    world->detail = (struct detail){0};
    world->received = (struct rpc_ledger){.sequence = world->next.sequence};
    ledger_build(&world->next, &world->meta, &world->received.hash);
    world->received.meta = buf_bytes(&world->meta);
    return commit_received(&world->gap->lead, &world->received, &world->committed, &world->detail);
}

static bool is_signed(struct world *world)
{
    struct ledger ledger CLEANUP(ledger_free) = {0};
    struct trust *trust = &world->gap->follow.trust;
    buf_clear(&world->meta);
    ledger_build(&world->next, &world->meta, &world->received.hash);
    assert_int_equal(
        ledger_decode(buf_bytes(&world->meta), &world->gap->network, &ledger, &world->detail), ERR_OK);
    return trust_is_on(trust) && trust_signed(trust, &ledger);
}

TEST(the_file_is_read_again_when_it_changes_and_kept_when_it_is_wrong)
{
    struct world *world = *state;
    const struct public_key node = built_validator();
    struct public_key other;
    assert_int_equal(
        address_decode("GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK", &other), ERR_OK);
    assert_true(is_signed(world));
    world->next.close_ms = 600;
    assert_true(is_signed(world));
    write_file(world, &other);
    assert_false(is_signed(world));
    unlink(world->path);
    assert_false(is_signed(world));
    write_file(world, &node);
    assert_true(is_signed(world));
    unlink(world->path);
    assert_true(is_signed(world));
}

TEST(the_public_networks_have_lists_of_their_own_and_others_none)
{
    static const struct {
        const char *option, *passphrase;
        bool on;
    } cases[] = {
        {NULL, "Public Global Stellar Network ; September 2015", true},
        {NULL, "Test SDF Network ; September 2015", true},
        {"off", "Test SDF Network ; September 2015", false},
        {NULL, "Standalone Network ; February 2017", false},
        {"off", "Standalone Network ; February 2017", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct network_id network = network_id_of(cases[i].passphrase);
        struct trust trust;
        assert_int_equal(trust_open(cases[i].option, &network, &trust, NULL), ERR_OK);
        assert_int_equal(trust_is_on(&trust), cases[i].on);
        assert_int_equal(ingest_checks_signatures(cases[i].option, cases[i].passphrase), cases[i].on);
        trust_free(&trust);
    }
    struct trust trust;
    struct public_key node;
    assert_int_equal(
        address_decode("GAAV2GCVFLNN522ORUYFV33E76VPC22E72S75AQ6MBR5V45Z5DWVPWEU", &node), ERR_OK);
    const struct network_id network = network_id_of(cases[0].passphrase);
    assert_int_equal(trust_open(NULL, &network, &trust, NULL), ERR_OK);
    assert_int_equal(trust.validators.count, 21);
    assert_true(validators_have(&trust.validators, &node));
    trust_free(&trust);
}

/* The RPC forges the results of a ledger with a real set, and then has the real one: only the next signed set
 * names that. */
static void commit_forged(struct world *world, int32_t code)
{
    const struct built_transaction ours = {.hash = built_hash(LEASED), .code = code};
    world->next.transactions = &ours;
    world->next.transaction_count = 1;
    assert_int_equal(commit(world), ERR_OK);
}

static enum refute_outcome refute(struct world *world, uint32_t *logged)
{
    struct gap_world *gap = world->gap;
    enum refute_outcome outcome;
    const struct hash named = ledger_feed_ledger(gap->feed, gap->lead.cursor.sequence).hash;
    if (refute_ledger(&gap->lead, &gap->follow, &named, logged, &outcome, &world->detail) != ERR_OK)
        fail_msg("%s", world->detail.text);
    return outcome;
}

TEST(DR4_false_results_of_the_last_ledger_are_corrected_and_given_again)
{
    struct world *world = *state;
    struct gap_world *gap = world->gap;
    uint32_t logged = 0;
    struct lease_list list;
    struct db *db = test_db_open(&gap->db);
    commit_forged(world, -1);
    assert_int_equal(world->committed.settled.failed, 1);
    assert_int_equal(lease_list_read(db, "", 0, 10, &list, &world->detail), ERR_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].status, "failed");
    const int64_t read_up_to = list.next;
    lease_list_free(&list);
    const struct built_transaction ours = {.hash = built_hash(LEASED)};
    ledger_feed_close(gap->feed,
        &(struct built_ledger){
            .transactions = &ours, .transaction_count = 1, .close_time_s = world->next.close_time_s});
    assert_int_equal(refute(world, &logged), REFUTE_CORRECTED);
    const struct rpc_ledger real = ledger_feed_ledger(gap->feed, gap->lead.cursor.sequence);
    assert_true(hash_equal(&gap->lead.cursor.hash, &real.hash));
    assert_int_equal(
        gap_count(gap, "l.result = 'confirmed' AND l.result_code = 'txSUCCESS' AND a.state = 'active'"), 1);
    assert_int_equal(lease_list_read(db, "", read_up_to, 10, &list, &world->detail), ERR_OK);
    assert_int_equal(list.count, 0); /* with the next ledger, after its own */
    lease_list_free(&list);
    ledger_feed_close(gap->feed, NULL);
    assert_int_equal(gap_world_follow(gap), ERR_OK);
    assert_int_equal(lease_list_read(db, "", read_up_to, 10, &list, &world->detail), ERR_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].status, "confirmed");
    lease_list_free(&list);
    db_free(db);
    assert_true(gap_grants_allowed(gap));
    assert_int_equal(logged, 0);
}

TEST(DL9_a_false_success_that_is_corrected_frees_the_claims_of_its_lease)
{
    struct world *world = *state;
    uint32_t logged = 0;
    commit_forged(world, 0);
    test_db_exec(&world->gap->db,
        "INSERT INTO fairway.lease_claims SELECT 9000, now(), '', 'a', r.hash, r.hash,"
        " '' FROM fairway.lease_results r");
    const struct built_transaction ours = {.hash = built_hash(LEASED), .code = -1};
    ledger_feed_close(world->gap->feed,
        &(struct built_ledger){
            .transactions = &ours, .transaction_count = 1, .close_time_s = world->next.close_time_s});
    assert_int_equal(refute(world, &logged), REFUTE_CORRECTED);
    assert_int_equal(test_db_number(&world->gap->db, "SELECT count(*) FROM fairway.lease_claims"), 0);
}

/* It had another set, or a lease in it that should have ended. */
TEST(DR4_a_committed_ledger_that_differs_in_more_than_results_is_refuted)
{
    struct world *world = *state;
    struct gap_world *gap = world->gap;
    uint32_t logged = 0;
    enum refute_outcome outcome;
    commit_forged(world, 0);
    gap_close_ledger(gap, LEASED, 51, BY_NOBODY);
    assert_int_equal(
        refute_ledger(&gap->lead, &gap->follow, &(struct hash){{5}}, &logged, &outcome, &world->detail),
        ERR_RPC_UNAVAILABLE); /* no RPC has such a ledger: a signed one of another time */
    assert_int_equal(gap_count(gap, "a.state = 'quarantined'"), 0);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(refute(world, &logged), REFUTE_HELD);
        assert_int_equal(gap_count(gap, "a.state = 'quarantined' AND a.slot = 1"), 1);
        assert_int_equal(gap_count(gap, "a.state = 'active'"), 1);
    }
    assert_int_equal(logged, gap->lead.cursor.sequence);
    assert_int_equal(
        test_db_number(&gap->db, "SELECT count(*) FROM fairway.cursor WHERE held_until IS NOT NULL"), 1);
}

/* An RPC that lied in a gap had left such a number, and every true ledger was refused. */
TEST(DR5_a_database_whose_number_is_above_the_networks_goes_on_by_itself)
{
    struct world *world = *state;
    struct gap_world *gap = world->gap;
    const struct feed feed = ledger_feed_source(gap->feed);
    struct ingest *ingest;
    gap_close_ledger(gap, LEASED, 51, 0);
    ledger_feed_keep_transactions(gap->feed);
    gap_drop_ledgers(gap, 5, 4);
    test_db_execf(&gap->db,
        "BEGIN; UPDATE fairway.ledgers SET sequence = 900000; UPDATE fairway.cursor SET sequence = 900000;"
        " UPDATE fairway.channel_accounts SET sequence_ledger = 900000; COMMIT");
    lead_drop(&gap->lead);
    const struct ingest_settings settings = {.database_url = gap->db.serve_url,
        .feed = &feed,
        .trusted_validators = world->path,
        .network = gap->network,
        .poll_ms = 20,
        .ledger_ms = 1000,
        .retention_s = 3600};
    assert_int_equal(ingest_start(&settings, &ingest, NULL), ERR_OK);
    const int64_t until_ms = clock_ms() + slower(20000);
    for (; gap_cursor(gap) == 900000 && clock_left_ms(until_ms) > 0; clock_sleep_ms(50))
        ledger_feed_close(gap->feed, NULL); /* proves the one before */
    ingest_stop(ingest);
    assert_in_range(gap_cursor(gap), GAP_CURSOR + 5, ledger_feed_latest(gap->feed));
    assert_int_equal(
        gap_count(gap, "l.result = 'confirmed' AND a.sequence = 51 AND a.sequence_ledger < 900000"), 1);
    assert_int_equal(
        test_db_number(&gap->db, "SELECT count(*) FROM fairway.ledgers WHERE sequence = 900000"), 0);
    assert_true(gap_grants_allowed(gap));
}

TEST_FIXTURE(set_up, tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
