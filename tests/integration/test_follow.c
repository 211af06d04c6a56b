/*
 * Whose ledger is the network's (src/ingest/follow.h): what each lie about ledgers comes to, with one address
 * and with a second one that tells the truth, and how long one that hangs is waited for. No database.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "../../src/ingest/follow.h"
#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "base/metric.h"
#include "support/ledger_builder.h"

#define FIRST 100    /* the cursor; the network's next ledgers are those after it */
#define LEDGERS 1100 /* that it closes at most */
#define PATIENCE_MS 20000

struct served {
    struct buf meta;
    struct hash hash;
};

/* An address of RPC_URL: serves what the network has, but for its lies. */
struct node {
    struct served lies[LEDGERS]; /* by number, from FIRST on; an empty one: the truth */
    uint32_t latest, oldest;     /* latest 0: the network's */
    uint32_t claims;             /* not 0: it names this as its latest ledger */
    enum err e;
    bool hangs;
    int64_t takes_ms, answers_ms; /* after so long, at this clock_ms() */
    unsigned requests;
};

static struct served truth[LEDGERS];
static uint32_t latest; /* that the network has closed */
static struct node nodes[3];
static struct follow follow;
static struct cursor cursor;
static struct follow_ledger found;
static struct detail detail;

static struct built_ledger after(uint32_t number, const struct served *previous)
{
    return (struct built_ledger){.meta_version = 1,
        .sequence = number,
        .previous_hash = previous->hash,
        .close_time_s = 1000 + number};
}

static void build(struct served *out, const struct built_ledger *ledger)
{
    buf_clear(&out->meta);
    ledger_build(ledger, &out->meta, &out->hash);
}

static struct served *true_ledger(uint32_t number)
{
    return &truth[number - FIRST];
}

/* Closes the next ledger: what is set in *like is as there. */
static void close_ledger(struct built_ledger like)
{
    const struct built_ledger plain = after(latest + 1, true_ledger(latest));
    like.meta_version = plain.meta_version;
    like.sequence = plain.sequence;
    like.previous_hash = plain.previous_hash;
    like.close_time_s = plain.close_time_s;
    build(true_ledger(++latest), &like);
}

static void close_ledgers(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close_ledger((struct built_ledger){0});
}

static void lie(struct node *node, const struct built_ledger *ledger)
{
    build(&node->lies[ledger->sequence - FIRST], ledger);
}

static void tell_the_truth(struct node *node)
{
    for (size_t i = 0; i < LEDGERS; i++)
        buf_free(&node->lies[i].meta);
    *node = (struct node){.oldest = 1};
}

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *why)
{
    struct node *node = source;
    const uint32_t top = node->latest != 0 ? node->latest : latest;
    if (node->answers_ms == 0)
        node->answers_ms = clock_ms() + node->takes_ms;
    if (node->hangs || clock_left_ms(node->answers_ms) > 0)
        return ERR_NOT_YET;
    node->answers_ms = 0;
    node->requests++;
    *out = (struct rpc_ledgers){.latest_ledger = node->claims != 0 ? node->claims : top};
    if (node->e != ERR_OK)
        return detail_set(why, node->e, "the node says so");
    if (start > top)
        return ERR_LEDGER_AHEAD;
    if (start < node->oldest)
        return ERR_LEDGER_GAP;
    out->items = NEW_ARRAY(limit, struct rpc_ledger);
    for (uint32_t n = start; out->count < limit && n <= top; n++) {
        const struct served *it = &node->lies[n - FIRST];
        if (it->meta.len == 0)
            it = true_ledger(n);
        out->items[out->count++] = (struct rpc_ledger){n, it->hash, buf_bytes(&it->meta)};
    }
    return ERR_OK;
}

static void start(size_t count, bool signatures)
{
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    struct feed feeds[ARRAY_LEN(nodes)];
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
        tell_the_truth(&nodes[i]);
        feeds[i] = (struct feed){.ledgers = ledgers, .source = &nodes[i]};
    }
    follow =
        (struct follow){.rpcs = rpcs_start_feeds(feeds, count, &(struct rpcs_settings){.ledger_ms = 1000}),
            .trust = {.network = network},
            .network = network,
            .ledger_ms = 1000};
    if (signatures) {
        follow.trust.validators = (struct validators){NEW(struct public_key), 1};
        follow.trust.validators.keys[0] = built_validator();
    }
    latest = FIRST;
    struct built_ledger first = after(FIRST, &(struct served){.hash = {{1}}});
    build(true_ledger(FIRST), &first);
    cursor = (struct cursor){
        .known = true, .sequence = FIRST, .hash = true_ledger(FIRST)->hash, .close_time_s = 1};
}

static int set_up(void **state)
{
    start(2, true);
    return 0;
}

static int tear_down(void **state)
{
    rpcs_stop(follow.rpcs);
    follow_close(&follow);
    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        tell_the_truth(&nodes[i]);
    for (size_t i = 0; i < LEDGERS; i++)
        buf_free(&truth[i].meta);
    return 0;
}

static void restart(size_t count, bool signatures)
{
    tear_down(NULL);
    start(count, signatures);
}

static enum err next(void)
{
    detail = (struct detail){""};
    return follow_next(&follow, &cursor, cursor.sequence + 1, false, &found, &detail);
}

static void is_true(void)
{
    assert_memory_equal(found.ledger->hash.bytes, true_ledger(found.ledger->sequence)->hash.bytes, 32);
}

static void commit(void)
{
    cursor = cursor_after(found.ledger);
    follow_committed(&follow, &cursor);
}

/* The ledger due is returned within the time, is the network's, and is committed. */
static void commits_within(int ms)
{
    enum err e;
    const int64_t until_ms = clock_ms() + ms;
    while ((e = next()) != ERR_OK && clock_left_ms(until_ms) > 0)
        clock_sleep_ms(1);
    if (e != ERR_OK)
        fail_msg("%s: %s", err_code(e), detail.text);
    is_true();
    commit();
}

static void commits(void)
{
    commits_within(PATIENCE_MS);
}

/* For several calls it is not returned, once all have answered. */
static void waits(const char *word)
{
    for (int i = 0, said = 0; said < 5; i++) {
        const enum err e = next();
        said += e == ERR_LEDGER_AHEAD && strstr(detail.text, word) != NULL;
        if (e != ERR_LEDGER_AHEAD || i == 100)
            fail_msg("%s: %s", err_code(e), detail.text);
        clock_sleep_ms(2);
    }
}

static int64_t refuted(unsigned address)
{
    return metric_read(METRIC_RPC_REFUTED, address, 0);
}

/* ---- what is proved */

/* Each ledger after the cursor that no signature of the list binds. */
static void unbound(size_t i, struct built_ledger *out)
{
    static const struct hash elsewhere = {{9}};
    static const struct network_id other = {{7}};
    *out = after(FIRST + 1, true_ledger(FIRST));
    out->value_unsigned = i == 0;
    out->badly_signed = i == 1;
    out->set_dropped = i == 2;                      /* a true signature fits an empty ledger on any parent */
    out->set_previous = i == 3 ? &elsewhere : NULL; /* a value of another time */
    out->network = i == 4 ? &other : NULL;
    out->close_time_s += i == 5;
    out->badly_signed |= i == 5;
}
#define UNBOUND 6

TEST(DR4_what_no_trusted_validator_has_signed_waits_and_is_not_used_beside_a_signed_one)
{
    for (size_t i = 0; i < UNBOUND; i++)
        for (size_t count = 1; count <= 2; count++) {
            struct built_ledger forged;
            restart(count, true);
            unbound(i, &forged);
            lie(&nodes[0], &forged);
            close_ledgers(1);
            const int64_t before = refuted(0);
            if (count == 2) {
                commits();
                assert_int_equal(refuted(0), before + (i != 2));
            } else {
                waits("waits for a later one");
                tell_the_truth(&nodes[0]);
                close_ledgers(1);
                commits();
            }
        }
}

/* Not one of these is the witness of the ledger before. */
TEST(DR4_neither_are_they_successors)
{
    for (size_t i = 0; i < UNBOUND; i++) {
        struct built_ledger forged, next_one;
        restart(1, true);
        unbound(i, &forged);
        forged.value_unsigned = true; /* needs a successor */
        lie(&nodes[0], &forged);
        close_ledgers(2);
        unbound(i, &next_one);
        next_one.sequence = FIRST + 2;
        next_one.previous_hash = nodes[0].lies[1].hash;
        lie(&nodes[0], &next_one);
        nodes[0].latest = FIRST + 2;
        waits("waits for a later one");
    }
}

TEST(a_ledger_whose_set_was_dropped_or_that_another_node_signed_waits_for_the_next_signed_one)
{
    for (size_t count = 1; count <= 2; count++) {
        restart(count, true);
        close_ledger((struct built_ledger){.set_dropped = true});
        waits("is not signed by a trusted validator"); /* though both agree */
        close_ledger((struct built_ledger){.value_unsigned = true});
        waits("waits for a later one");
        close_ledgers(1);
        for (int i = 0; i < 3; i++)
            commits();
    }
}

TEST(after_sixteen_unsigned_ledgers_it_is_an_error_by_name_and_goes_on_with_a_complete_list)
{
    const struct public_key other = {{1}}, validator = built_validator();
    follow.trust.validators.keys[0] = other;
    char address[ADDRESS_SIZE];
    address_encode(&validator, address);
    for (int i = 0; i <= FOLLOW_UNSIGNED_MAX; i++) {
        close_ledgers(1);
        for (int k = 0; k < 3; k++)
            (void)next();
    }
    assert_int_equal(next(), ERR_LEDGER_MISMATCH);
    assert_non_null(strstr(detail.text, "no trusted validator has signed ledger 101"));
    assert_non_null(strstr(detail.text, address));
    assert_non_null(strstr(detail.text, "TRUSTED_VALIDATORS"));
    follow.trust.validators.keys[0] = validator;
    while (cursor.sequence < latest)
        commits();
}

/* Of the same set, or one that was proposed and lost. */
TEST(DR4_of_two_signed_ledgers_the_next_signed_set_names_the_networks)
{
    const struct built_transaction ours = {.hash = built_hash(1)},
                                   failed = {.hash = built_hash(1), .code = -1};
    for (int other_set = 0; other_set < 2; other_set++)
        for (size_t liar = 0; liar < 2; liar++) {
            restart(2, true);
            close_ledger((struct built_ledger){.transactions = &ours, .transaction_count = 1});
            struct built_ledger forged = after(FIRST + 1, true_ledger(FIRST));
            forged.transactions = &failed;
            forged.transaction_count = !other_set;
            lie(&nodes[liar], &forged);
            waits("has another hash at another RPC");
            struct built_ledger dropped = after(FIRST + 2, &nodes[liar].lies[1]);
            dropped.set_dropped = true; /* the liar goes on */
            lie(&nodes[liar], &dropped);
            const int64_t before = refuted((unsigned)liar);
            close_ledgers(1);
            commits();
            assert_int_equal(refuted((unsigned)liar), before + 1);
            commits();
        }
}

/* A gap, or an empty database. */
TEST(DR4_without_a_link_only_a_signed_successor_proves_a_ledger)
{
    static const struct cursor unknown = {0};
    for (size_t count = 1; count <= 2; count++) {
        restart(count, true);
        close_ledgers(5);
        struct built_ledger forged = after(FIRST + 7, true_ledger(FIRST + 4)); /* a false number, signed */
        for (size_t i = 0; i < count; i++) {
            lie(&nodes[i], &forged);
            nodes[i].latest = FIRST + 7;
        }
        for (int i = 0; i < 5; i++)
            assert_int_equal(
                follow_next(&follow, &unknown, FIRST + 7, true, &found, &detail), ERR_LEDGER_AHEAD);
        for (size_t i = 0; i < count; i++)
            nodes[i].latest = 0;
        for (int i = 0; i < 5; i++)
            assert_int_equal(follow_next(&follow, &unknown, latest, true, &found, &detail), ERR_LEDGER_AHEAD);
        close_ledgers(1);
        for (int i = 0;
             i < 1000 && follow_next(&follow, &unknown, FIRST + 5, true, &found, &detail) != ERR_OK; i++)
            clock_sleep_ms(5);
        assert_int_equal(found.ledger->sequence, FIRST + 5);
        is_true();
    }
}

/* The cursor was forged: the signed ledger after it names another one. */
TEST(DR4_a_signed_ledger_that_does_not_follow_from_the_cursor_is_noted)
{
    const struct hash real = cursor.hash;
    struct rpc_ledgers answer;
    struct ledger ledger;
    restart(1, true);
    cursor.hash = (struct hash){{5}};
    close_ledgers(1);
    assert_int_equal(next(), ERR_LEDGER_MISMATCH);
    assert_true(follow.contradicts);
    assert_true(hash_equal(&follow.named, &real));
    assert_int_equal(follow_fetch(&follow, FIRST, &real, &answer, &ledger, &detail), ERR_OK);
    assert_int_equal(ledger.sequence, FIRST);
    ledger_free(&ledger);
    rpc_ledgers_free(&answer);
    assert_int_equal(
        follow_fetch(&follow, FIRST, &cursor.hash, &answer, &ledger, &detail), ERR_RPC_UNAVAILABLE);
    const struct built_ledger unsigned_one = {.meta_version = 1,
        .sequence = FIRST + 1,
        .previous_hash = real,
        .close_time_s = 2000,
        .value_unsigned = true};
    lie(&nodes[0], &unsigned_one);
    assert_int_equal(next(), ERR_LEDGER_MISMATCH);
    assert_false(follow.contradicts);
}

/* The cursor is forged, the liar goes on with an unsigned fork of it, and the other one tells the truth. */
TEST(DR4_a_contradiction_is_seen_beside_a_fork_and_those_who_had_the_forged_ledger_are_named)
{
    for (size_t liar = 0; liar < 2; liar++) {
        restart(2, true);
        const struct hash real = cursor.hash;
        struct built_ledger fork = after(FIRST + 1, &(struct served){.hash = {{5}}});
        cursor.hash = (struct hash){{5}};
        fork.value_unsigned = true;
        lie(&nodes[liar], &fork);
        close_ledgers(1);
        enum err e = ERR_LEDGER_AHEAD;
        for (int i = 0; i < 100 && e == ERR_LEDGER_AHEAD; i++, clock_sleep_ms(2))
            e = next();
        assert_int_equal(e, ERR_LEDGER_MISMATCH);
        assert_true(follow.contradicts && hash_equal(&follow.named, &real));
        const int64_t before = refuted((unsigned)liar);
        follow.sources[liar].had = true;
        follow_refuted(&follow);
        assert_int_equal(refuted((unsigned)liar), before + 1);
        assert_int_equal(follow.sources[1 - liar].away_s, 0);
        cursor.hash = real;
        commits();
    }
}

/* A signed ledger of another time, with the number that is due: no RPC has what it names. */
TEST(DR4_a_contradiction_that_nobody_can_back_stops_nothing)
{
    struct rpc_ledgers answer;
    struct ledger ledger;
    struct built_ledger old = after(FIRST + 1, &(struct served){.hash = {{9}}});
    lie(&nodes[0], &old);
    nodes[1].latest = FIRST;
    close_ledgers(1);
    enum err e = ERR_LEDGER_AHEAD;
    for (int i = 0; i < 100 && e == ERR_LEDGER_AHEAD; i++, clock_sleep_ms(2))
        e = next();
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    assert_int_equal(
        follow_fetch(&follow, FIRST, &follow.named, &answer, &ledger, &detail), ERR_RPC_UNAVAILABLE);
    assert_int_not_equal(follow.sources[0].away_s, 0);
    nodes[1].latest = 0;
    commits_within(2000);
}

/* It would otherwise be the only one that is asked. */
TEST(DR4_an_address_that_claims_far_more_than_it_has_stops_nothing)
{
    struct built_ledger fork = after(FIRST + 2, true_ledger(FIRST));
    close_ledgers(1);
    nodes[0].claims = 4000000000;
    commits_within(2000);
    close_ledgers(1);
    fork.previous_hash = true_ledger(FIRST + 1)->hash;
    fork.value_unsigned = true;
    lie(&nodes[0], &fork);
    for (int i = 0; i < 10; i++) {
        commits_within(2500);
        close_ledgers(1);
    }
}

/* ---- time */

TEST(DR6_an_address_that_hangs_costs_at_most_a_second_once)
{
    for (size_t hung = 0; hung < 2; hung++) {
        restart(2, true);
        close_ledgers(1);
        commits();
        nodes[hung].hangs = true;
        const int64_t begun_ms = clock_ms();
        for (int i = 0; i < 20; i++) {
            close_ledgers(1);
            commits_within(5000);
        }
        assert_in_range(clock_ms() - begun_ms, 0, 2500);
        assert_int_not_equal(follow.sources[hung].away_s, 0);
        nodes[hung].hangs = false;
        while (follow.sources[hung].away_s != 0) {
            follow.sources[hung].away_until_ms = 0;
            close_ledgers(latest < FIRST + LEDGERS - 2);
            (void)next();
            if (latest == FIRST + LEDGERS - 2)
                fail_msg("it is not waited for again");
            clock_sleep_ms(20);
            if (next() == ERR_OK) {
                clock_sleep_ms(20);
                commits();
            }
        }
    }
}

TEST(DR6_one_that_fails_lags_or_withholds_stops_nothing)
{
    for (int kind = 0; kind < 3; kind++)
        for (size_t bad = 0; bad < 2; bad++) {
            restart(2, true);
            nodes[bad].e = kind == 0 ? ERR_RPC_UNAVAILABLE : ERR_OK;
            nodes[bad].latest = kind == 1 ? FIRST : 0;
            nodes[bad].oldest = kind == 2 ? FIRST + 50 : 1; /* it says that they are dropped */
            for (int i = 0; i < 10; i++) {
                close_ledgers(1);
                commits_within(2000);
            }
        }
}

TEST(a_catch_up_asks_one_address_and_proves_each_ledger)
{
    close_ledgers(1000);
    nodes[1].oldest = FIRST + 1;
    nodes[1].takes_ms = 20;
    for (int i = 0; i < 1000; i++)
        commits();
    const unsigned asked[] = {nodes[0].requests, nodes[1].requests};
    /* An answer has ten ledgers. The other address takes over while the first is slow. */
    assert_in_range(asked[0] + asked[1], 100, 180);
    assert_in_range(asked[0] < asked[1] ? asked[0] : asked[1], 1, 60);
}

/* ---- without a list */

TEST(DR4_without_a_list_two_that_agree_are_enough_and_one_alone_is_waited_out)
{
    restart(2, false);
    close_ledgers(1);
    commits();
    nodes[1].latest = latest;
    close_ledgers(1);
    waits("no other RPC of RPC_URL has the ledger yet"); /* the other says that it has not closed */
    follow.sources[0].chain.got_ms -= follow.ledger_ms;
    waits("no other RPC");
    follow.sources[0].chain.got_ms -= RPCS_ALONE_MS;
    commits();
    restart(2, false);
    nodes[1].e = ERR_RPC_UNAVAILABLE;
    close_ledgers(1);
    waits("no other RPC");
    follow.sources[0].chain.got_ms -= follow.ledger_ms;
    commits();
    close_ledgers(1);
    commits_within(500); /* not waited for again */
    restart(3, false);
    struct built_ledger forged = after(FIRST + 1, true_ledger(FIRST));
    forged.close_time_s++;
    lie(&nodes[0], &forged);
    close_ledgers(1);
    commits();
}

TEST(DR4_without_a_list_two_that_differ_stop_ingestion_until_they_agree)
{
    restart(2, false);
    struct built_ledger forged = after(FIRST + 1, true_ledger(FIRST));
    forged.close_time_s++;
    lie(&nodes[1], &forged);
    close_ledgers(1);
    enum err e = ERR_LEDGER_AHEAD;
    for (int i = 0; i < 100 && e != ERR_LEDGER_MISMATCH; i++)
        e = next();
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    assert_non_null(strstr(detail.text, "ledger 101 has the hash"));
    buf_clear(&nodes[1].lies[1].meta);
    commits();
}

/* ---- gaps */

static enum err settled(void)
{
    enum err e = ERR_OK;
    for (int i = 0; i < 20; i++) {
        e = next();
        clock_sleep_ms(2);
    }
    return e;
}

/* Promise 1: in the recovery from a gap, that RPC alone would say what became of leases. */
TEST(DR5_a_gap_is_one_when_two_say_so_or_one_for_long_and_none_against_it)
{
    for (int signatures = 0; signatures < 2; signatures++) {
        restart(2, signatures);
        close_ledgers(5);
        nodes[0].oldest = nodes[1].oldest = FIRST + 3;
        assert_int_equal(settled(), ERR_LEDGER_GAP);
        restart(2, signatures);
        close_ledgers(5);
        nodes[1].latest = cursor.sequence;
        nodes[0].oldest = FIRST + 3;
        assert_int_equal(settled(), ERR_LEDGER_AHEAD);
        follow.gap_ms -= RPCS_ALONE_MS;
        assert_int_equal(settled(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "and RPC 2 says that it has not closed yet"));
        nodes[1].latest = cursor.sequence - 1; /* it says nothing about this one */
        assert_int_equal(settled(), ERR_LEDGER_GAP);
        restart(2, signatures);
        close_ledgers(5);
        nodes[0].oldest = FIRST + 3;
        nodes[1].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(settled(), ERR_LEDGER_AHEAD);
        follow.gap_ms -= RPCS_ALONE_MS;
        assert_int_equal(settled(), ERR_LEDGER_GAP);
    }
    restart(1, true);
    close_ledgers(5);
    nodes[0].oldest = FIRST + 3;
    assert_int_equal(next(), ERR_LEDGER_GAP);
}

TEST(an_error_of_all_is_returned_with_its_rpc)
{
    nodes[0].e = nodes[1].e = ERR_RPC_REFUSED;
    assert_int_equal(settled(), ERR_RPC_REFUSED);
    assert_non_null(strstr(detail.text, "RPC 1 of RPC_URL: "));
    nodes[1].e = ERR_CANCELLED;
    assert_int_equal(settled(), ERR_CANCELLED);
}

TEST_FIXTURE(set_up, tear_down)
