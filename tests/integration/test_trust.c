/*
 * TRUSTED_VALIDATORS: no ledger is committed that no trusted validator has signed; what a signed ledger
 * contradicts is held and quarantined; the file is read again.
 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/ingest/refute.h"
#include "base/mem.h"
#include "support/gap.h"

#define LEASED 1
#define IDLE 2

struct world {
    struct gap_world *gap;
    char path[32];
    struct trust trust;
    struct built_ledger next; /* after the cursor */
    struct buf meta;
    struct rpc_ledger received[2];
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
    if (trust_open(world->path, &world->trust, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    world->gap->lead.trust = &world->trust;
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
    trust_free(&world->trust);
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
    world->received[0] = (struct rpc_ledger){.sequence = world->next.sequence, .rpc = 2};
    ledger_build(&world->next, &world->meta, &world->received[0].hash);
    world->received[0].meta = buf_bytes(&world->meta);
    return ledger_commit(&world->gap->lead, world->received, 1, NULL, &world->committed, &world->detail);
}

static void assert_refused(struct world *world, const char *word)
{
    char address[ADDRESS_SIZE];
    const struct public_key node = built_validator();
    address_encode(&node, address);
    assert_int_equal(commit(world), ERR_LEDGER_MISMATCH);
    if (strstr(world->detail.text, word) == NULL)
        fail_msg("%s", world->detail.text);
    assert_non_null(strstr(world->detail.text, "of RPC 2 of RPC_URL"));
    assert_non_null(strstr(world->detail.text, world->next.value_unsigned ? "nobody" : address));
    assert_int_equal(gap_cursor(world->gap), GAP_CURSOR);
}

static void a_signed_ledger_is_committed(void **state)
{
    struct world *world = *state;
    for (int ms = 0; ms < 2; ms++) {
        world->next.close_ms = ms ? 600 : 0;
        assert_int_equal(commit(world), ERR_OK);
        world->next.sequence++;
        world->next.previous_hash = world->received[0].hash;
    }
}

static void DR4_a_ledger_that_no_trusted_validator_has_signed_is_refused(void **state)
{
    struct world *world = *state;
    world->next.value_unsigned = true;
    assert_refused(world, "not in TRUSTED_VALIDATORS");
    world->next.value_unsigned = false;
    world->next.badly_signed = true;
    assert_refused(world, "the signature is not valid");
    world->next.badly_signed = false;
    world->next.set_previous = &(struct hash){{9}};
    assert_refused(world, "its transaction set is not for the ledger before it");
    world->next.set_previous = NULL;
    world->gap->lead.trust = NULL;
    world->next.value_unsigned = true;
    assert_int_equal(commit(world), ERR_OK); /* nothing is checked */
}

static void the_file_is_read_again_when_it_changes_and_kept_when_it_is_wrong(void **state)
{
    struct world *world = *state;
    const struct public_key node = built_validator();
    struct public_key other;
    assert_int_equal(
        address_decode("GCM6QMP3DLRPTAZW2UZPCPX2LF3SXWXKPMP3GKFZBDSF3QZGV2G5QSTK", &other), ERR_OK);
    write_file(world, &other);
    assert_refused(world, "not in TRUSTED_VALIDATORS");
    unlink(world->path);
    assert_refused(world, "not in TRUSTED_VALIDATORS");
    write_file(world, &node);
    assert_int_equal(commit(world), ERR_OK);
    unlink(world->path);
    world->next.sequence++;
    world->next.previous_hash = world->received[0].hash;
    assert_int_equal(commit(world), ERR_OK);
}

/* Whoever has a signed value can put its signature into an empty ledger. */
static void DR4_a_ledger_whose_set_was_dropped_waits_for_the_next_one(void **state)
{
    struct world *world = *state;
    struct buf after CLEANUP(buf_free) = {0};
    world->next.set_dropped = true;
    assert_int_equal(commit(world), ERR_LEDGER_AHEAD);
    struct built_ledger next = {.meta_version = 1,
        .sequence = world->next.sequence + 1,
        .previous_hash = {{7}},
        .close_time_s = world->next.close_time_s + 1};
    for (int follows = 0; follows < 3; follows++) {
        if (follows)
            next.previous_hash = world->received[0].hash;
        next.set_replaced = follows == 1; /* anybody can name that ledger in a set of his own */
        buf_clear(&after);
        ledger_build(&next, &after, &world->received[1].hash);
        world->received[1].meta = buf_bytes(&after);
        world->received[1].rpc = 2;
        assert_int_equal(
            ledger_commit(&world->gap->lead, world->received, 2, NULL, &world->committed, &world->detail),
            follows == 2 ? ERR_OK : ERR_LEDGER_MISMATCH);
    }
}

/* The RPC forges the results of a ledger with a real set: only the next one's set names the real one. */
static void DR4_a_committed_ledger_that_a_signed_one_contradicts_is_refuted(void **state)
{
    struct world *world = *state;
    struct gap_world *gap = world->gap;
    const struct feed feed = ledger_feed_source(gap->feed);
    const struct built_transaction ours = {.hash = built_hash(LEASED)};
    bool refuted;
    uint32_t logged = 0;
    world->next.transactions = &ours;
    world->next.transaction_count = 1;
    assert_int_equal(commit(world), ERR_OK);
    assert_int_equal(world->committed.settled.confirmed, 1);
    gap_close_ledger(gap, LEASED, 51, -1); /* the real one: it failed */
    ledger_feed_close(gap->feed, NULL);
    for (int signature = 0; signature < 2; signature++) {
        struct rpc_ledger next = ledger_feed_ledger(gap->feed, gap->lead.cursor.sequence + 1);
        gap->lead.trust = signature ? &world->trust : NULL;
        assert_int_equal(ledger_commit(&gap->lead, &next, 1, NULL, &world->committed, &world->detail),
            ERR_LEDGER_MISMATCH);
        assert_int_equal(world->committed.contradicts, signature);
    }
    assert_int_equal(
        refute_ledger(&gap->lead, &feed, &(struct hash){{5}}, &logged, &refuted, &world->detail), ERR_OK);
    assert_false(refuted); /* the RPC has no such ledger: a signed one of another time */
    assert_int_equal(gap_count(gap, "a.state = 'quarantined'"), 0);
    for (int again = 0; again < 2; again++) {
        if (refute_ledger(&gap->lead, &feed, &world->committed.named, &logged, &refuted, &world->detail) !=
            ERR_OK)
            fail_msg("%s", world->detail.text);
        assert_true(refuted);
        assert_int_equal(gap_count(gap, "a.state = 'quarantined' AND a.slot = 1"), 1);
        assert_int_equal(gap_count(gap, "a.state = 'active'"), 1);
    }
    assert_int_equal(logged, gap->lead.cursor.sequence);
    assert_int_equal(
        test_db_number(&gap->db, "SELECT count(*) FROM fairway.cursor WHERE held_until IS NOT NULL"), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_signed_ledger_is_committed),
        TEST(DR4_a_ledger_that_no_trusted_validator_has_signed_is_refused),
        TEST(the_file_is_read_again_when_it_changes_and_kept_when_it_is_wrong),
        TEST(DR4_a_ledger_whose_set_was_dropped_waits_for_the_next_one),
        TEST(DR4_a_committed_ledger_that_a_signed_one_contradicts_is_refuted),
    };
    return cmocka_run_group_tests_name("ingest, trusted validators", tests, test_pg_start, test_pg_stop);
}
