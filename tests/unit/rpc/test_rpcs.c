/* Rules of rpc/rpcs.h: what two RPCs have to say, how long one is waited for, and that one that hangs delays
 * no other. Threads may stand still for seconds: limits are far away, and tests make what was asked older. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/deadlines.h"
#include "base/mem.h"
#include "rpcs_parts.h"

/* Nothing but an RPC that hangs is waited for so long. Below RPCS_ALONE_MS. */
#define LEDGER_MS 20000

/* An RPC: what it answers. */
struct fake {
    enum err e;
    uint32_t latest, oldest;
    uint8_t hash; /* of its ledgers */
    struct rpc_account account;
    struct public_key frozen;
    struct rpc_transaction transaction;
    int slow_ms;        /* for each answer */
    struct fake *after; /* it does not answer before the other one has been asked as often, for LEDGER_MS */
    atomic_bool hangs;
    atomic_uint requests;
};

/* Counts the request, and hangs. */
static void ask_fake(struct fake *fake)
{
    const unsigned number = ++fake->requests;
    const int64_t until_ms = clock_ms() + LEDGER_MS;
    while (
        fake->hangs || (fake->after != NULL && fake->after->requests < number && clock_left_ms(until_ms) > 0))
        clock_sleep_ms(1);
    clock_sleep_ms(fake->slow_ms);
}

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct fake *fake = source;
    ask_fake(fake);
    *out = (struct rpc_ledgers){.latest_ledger = fake->latest, .oldest_ledger = fake->oldest};
    if (fake->e != ERR_OK || start > fake->latest)
        return detail_set(detail, fake->e != ERR_OK ? fake->e : ERR_LEDGER_AHEAD, "not here");
    if (start < fake->oldest)
        return ERR_LEDGER_GAP;
    out->items = NEW_ARRAY(limit, struct rpc_ledger);
    for (uint32_t i = 0; i < limit && start + i <= fake->latest; i++)
        out->items[out->count++] = (struct rpc_ledger){.sequence = start + i, .hash = {{fake->hash}}};
    return ERR_OK;
}

static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    struct fake *fake = source;
    (void)detail;
    ask_fake(fake);
    *out = (struct rpc_network){.protocol = fake->latest};
    return fake->e;
}

static enum err accounts(void *source, const struct public_key keys[], size_t count, struct rpc_account out[],
    uint32_t *ledger, struct detail *detail)
{
    struct fake *fake = source;
    (void)keys, (void)detail;
    ask_fake(fake);
    *ledger = fake->latest;
    for (size_t i = 0; i < count; i++)
        out[i] = fake->account;
    return fake->e;
}

static enum err frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct fake *fake = source;
    (void)detail;
    ask_fake(fake);
    *ledger = fake->latest;
    *out = (struct frozen_accounts){0};
    if (fake->e != ERR_OK)
        return fake->e;
    *out = (struct frozen_accounts){.keys = NEW(struct public_key), .count = 1};
    out->keys[0] = fake->frozen;
    return ERR_OK;
}

static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct fake *fake = source;
    (void)hash, (void)detail;
    ask_fake(fake);
    *out = fake->transaction;
    return fake->e;
}

static struct fake fakes[3];
static struct rpcs *rpcs;
static uint32_t as_of;  /* of the last read */
static uint32_t latest; /* of the last fetch */
static struct detail detail;

static void start(size_t count, bool signatures)
{
    struct feed feeds[ARRAY_LEN(fakes)];
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++) {
        fakes[i] = (struct fake){.latest = 12,
            .hash = 7,
            .account = {.found = true, .sequence = 5, .balance_stroops = 1},
            .transaction = {.status = RPC_TRANSACTION_SUCCESS, .ledger = 9, .latest_ledger = 12}};
        feeds[i] = (struct feed){ledgers, network, accounts, frozen, transaction, &fakes[i]};
    }
    rpcs = rpcs_start_feeds(feeds, count, &(struct rpcs_settings){.signatures = signatures});
    rpcs->ledger_ms = rpcs->tip_ms = LEDGER_MS;
}

static int set_up(void **state)
{
    (void)state;
    start(ARRAY_LEN(fakes), false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
        fakes[i].hangs = false;
    rpcs_stop(rpcs);
    return 0;
}

static void restart(size_t count, bool signatures)
{
    tear_down(NULL);
    start(count, signatures);
}

static bool is_asked(size_t i)
{
    pthread_mutex_lock(&rpcs->mutex);
    const bool asked = rpcs->sources[i].asked_ms != 0;
    pthread_mutex_unlock(&rpcs->mutex);
    return asked;
}

/* After a question: waits for the RPCs whose answers it did not wait for. Then no thread uses a fake that
 * does not hang, until the next question. */
static void settle(void)
{
    for (size_t i = 0; i < rpcs->count; i++)
        while (!fakes[i].hangs && is_asked(i))
            clock_sleep_ms(1);
}

/* Those that have just failed too. */
static void ask_again(void)
{
    pthread_mutex_lock(&rpcs->mutex);
    for (size_t i = 0; i < rpcs->count; i++)
        rpcs->sources[i].again_ms = 0;
    pthread_mutex_unlock(&rpcs->mutex);
}

/* Number of ledgers from 10 on, or 0 with *e. */
static size_t fetch(enum err *e)
{
    struct rpc_ledgers out CLEANUP(rpc_ledgers_free) = {0};
    const struct feed feed = rpcs_feed(rpcs);
    detail = (struct detail){""};
    ask_again();
    *e = feed.ledgers(feed.source, 10, 3, &out, &detail);
    settle();
    latest = out.latest_ledger;
    if (*e == ERR_OK && out.other != NULL)
        assert_int_equal(out.other->count, out.count);
    return *e == ERR_OK ? out.count : 0;
}

static void fetch_fails(enum err expected)
{
    enum err e;
    fetch(&e);
    if (e != expected)
        fail_msg("%s instead of %s: %s", err_code(e), err_code(expected), detail.text);
}

static void fetches(size_t expected)
{
    enum err e;
    const size_t count = fetch(&e);
    if (count != expected)
        fail_msg("%zu ledgers, %s: %s", count, err_code(e), detail.text);
}

static enum err read_account(void)
{
    const struct public_key key = {{1}};
    struct rpc_account out;
    const struct feed feed = rpcs_feed(rpcs);
    detail = (struct detail){""};
    ask_again();
    const enum err e = feed.accounts(feed.source, &key, 1, &out, &as_of, &detail);
    settle();
    return e;
}

static enum err read_frozen(void)
{
    struct frozen_accounts out CLEANUP(frozen_accounts_free) = {0};
    const struct feed feed = rpcs_feed(rpcs);
    detail = (struct detail){""};
    ask_again();
    const enum err e = feed.frozen(feed.source, &out, &as_of, &detail);
    settle();
    return e;
}

static enum rpc_transaction_status transaction_status(void)
{
    const struct hash hash = {{1}};
    struct rpc_transaction out;
    const struct feed feed = rpcs_feed(rpcs);
    assert_int_equal(feed.transaction(feed.source, &hash, &out, &detail), ERR_OK);
    settle();
    return out.status;
}

/* The claim has been made for this long. */
static void make_older(struct rpcs_claim *claim, int ms)
{
    assert_true(claim->since_ms != 0);
    claim->since_ms -= ms;
}

/* ---- ledgers */

static void DR4_two_that_have_the_same_ledgers_are_enough(void **state)
{
    fetches(3);
    restart(3, false);
    fakes[1].latest = 10;
    fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetches(1);
    for (size_t liar = 0; liar < ARRAY_LEN(fakes); liar++) {
        restart(3, false);
        fakes[liar].hash = 8;
        fetches(3);
    }
}

static void DR4_a_ledger_with_another_hash_at_a_second_rpc_stops_ingestion(void **state)
{
    for (int signatures = 0; signatures < 2; signatures++) {
        restart(2, signatures);
        fakes[1].hash = 8;
        fetch_fails(ERR_LEDGER_MISMATCH);
        assert_non_null(strstr(detail.text, "ledger 10 has the hash 0700"));
        assert_non_null(strstr(detail.text, " at RPC 1 of RPC_URL and 0800"));
        assert_non_null(strstr(detail.text, " at RPC 2: find out"));
        fakes[1].hash = 7;
        fetches(3);
    }
}

/* The third one has the ledger soon. */
static void two_that_differ_wait_for_a_third_one(void **state)
{
    fakes[1].hash = 8;
    fakes[2].latest = 9;
    fetch_fails(ERR_LEDGER_AHEAD);
    fakes[2].latest = 12;
    fetches(3);
    fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch_fails(ERR_LEDGER_AHEAD);
    make_older(&rpcs->ledger, rpcs->ledger_ms);
    fetch_fails(ERR_LEDGER_MISMATCH);
}

/* Otherwise an RPC could invent ledgers that the network has not closed yet. */
static void DR4_a_ledger_that_only_one_has_is_waited_for(void **state)
{
    restart(2, false);
    fakes[1].latest = 9;
    fetch_fails(ERR_LEDGER_AHEAD);
    const unsigned before = fakes[0].requests;
    make_older(&rpcs->ledger, rpcs->ledger_ms);
    fetch_fails(ERR_LEDGER_AHEAD);               /* the other one says that it has not closed */
    assert_int_equal(fakes[0].requests, before); /* asked once */
    make_older(&rpcs->ledger, RPCS_ALONE_MS);
    fetches(3);
    assert_true(rpcs->sources[1].left_out);
    restart(2, true);
    fakes[1].latest = 9;
    fetch_fails(ERR_LEDGER_AHEAD);
    make_older(&rpcs->ledger, rpcs->ledger_ms);
    fetches(3); /* the caller checks that it is signed */
}

/* At the tip. Nothing waits for the answer of the second one, so the first one answers after it is asked. */
static void second_takes_part_again(void)
{
    fakes[0].requests = fakes[1].requests = 0;
    fakes[0].after = &fakes[1];
    fetch_fails(ERR_LEDGER_AHEAD);
    fakes[0].after = NULL;
    assert_false(rpcs->sources[1].left_out);
}

static void one_that_fails_or_lags_is_waited_for_once(void **state)
{
    for (int lags = 0; lags < 2; lags++) {
        restart(2, false);
        fakes[1].latest = 3;
        fakes[1].e = lags ? ERR_OK : ERR_RPC_UNAVAILABLE;
        fetch_fails(ERR_LEDGER_AHEAD);
        make_older(&rpcs->ledger, rpcs->ledger_ms);
        fetches(3);
        assert_true(rpcs->sources[1].left_out);
        fetches(3);
        fakes[1].e = ERR_OK;
        fakes[0].latest = fakes[1].latest = 9; /* the tip, for both */
        second_takes_part_again();
        fakes[0].latest = 10;
        fetch_fails(ERR_LEDGER_AHEAD);
    }
}

/* Whoever is left out has to be asked again, also when nobody else is; and the first one that answers then is
 * not believed alone. */
static void DR6_two_that_have_both_been_left_out_take_part_again(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        restart(2, false);
        rpcs->sources[0].left_out = rpcs->sources[1].left_out = true;
        fakes[i].hash = 8;
        fakes[i].slow_ms = 100;
        fetch_fails(ERR_LEDGER_MISMATCH);
        assert_false(rpcs->sources[0].left_out || rpcs->sources[1].left_out);
    }
}

/* Otherwise RPCs whose answers take longer than a question is open would never be heard. */
static void DR6_an_answer_to_an_earlier_question_about_the_ledger_counts(void **state)
{
    restart(2, false);
    rpcs->ledger_ms = 100;
    fakes[0].hangs = fakes[1].hangs = true;
    const int64_t begun_ms = clock_ms();
    fetch_fails(ERR_RPC_UNAVAILABLE);
    assert_true(clock_ms() - begun_ms >= rpcs->ledger_ms);
    assert_true(rpcs->sources[0].left_out && rpcs->sources[1].left_out);
    fetch_fails(ERR_RPC_UNAVAILABLE);
    fakes[0].hangs = fakes[1].hangs = false;
    settle();
    fetches(3);
    assert_int_equal(fakes[0].requests, 1);
    assert_int_equal(fakes[1].requests, 1);
}

/* RPCS_TIP_MS is for a ledger of which one says that it has not closed. */
static void rpcs_that_are_all_slow_are_waited_for(void **state)
{
    rpcs->tip_ms = 1;
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
        fakes[i].slow_ms = 200;
    fetches(3);
}

/* A question that waits for no answer of the second one, which hangs from now on. */
static void let_second_hang(void)
{
    struct rpc_network out;
    const struct feed feed = rpcs_feed(rpcs);
    fakes[0].requests = fakes[1].requests = 0;
    fakes[0].after = &fakes[1];
    fakes[1].hangs = true;
    assert_int_equal(feed.network(feed.source, &out, &detail), ERR_OK);
    settle();
    fakes[0].after = NULL;
}

/* It was asked so much earlier, or later. */
static void shift_asked(struct rpcs_source *source, int ms)
{
    pthread_mutex_lock(&rpcs->mutex);
    source->asked_ms += ms;
    pthread_mutex_unlock(&rpcs->mutex);
}

/* The rule of this file: the whole delay is that of one ledger, once. */
static void DR6_one_that_hangs_costs_one_wait_and_nobody_else_time(void **state)
{
    restart(2, false);
    fetches(3);
    const int64_t begun_ms = clock_ms();
    let_second_hang();
    assert_false(rpcs->sources[1].left_out);
    rpcs->ledger_ms = 3000;
    shift_asked(&rpcs->sources[1], -rpcs->ledger_ms);
    fetches(3);
    assert_true(rpcs->sources[1].left_out);
    shift_asked(&rpcs->sources[1], rpcs->ledger_ms);
    rpcs->ledger_ms = LEDGER_MS; /* for so long it would be waited for now */
    for (int i = 0; i < 20; i++)
        fetches(3);
    fakes[0].latest = 9;
    fetch_fails(ERR_LEDGER_AHEAD);
    assert_true(clock_ms() - begun_ms < rpcs->ledger_ms);
    fakes[1].hangs = false;
    settle();
    second_takes_part_again();
    fakes[0].latest = 12;
    fetches(3);
}

static void of_three_one_that_hangs_costs_nothing(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++) {
        restart(3, false);
        fakes[i].hangs = true;
        const int64_t begun_ms = clock_ms();
        for (int n = 0; n < 5; n++) {
            fetches(3);
            assert_int_equal(read_account(), ERR_OK);
        }
        assert_true(clock_ms() - begun_ms < rpcs->ledger_ms);
    }
}

static void a_gap_is_one_only_when_two_say_so(void **state)
{
    fakes[0].oldest = fakes[1].oldest = 11;
    fakes[2].latest = 9;
    fetch_fails(ERR_LEDGER_GAP);
    fakes[2].latest = 12;
    fakes[1].oldest = 0;
    fetches(3);
}

/* Promise 1: in the recovery from a gap, that RPC alone would say what became of leases. */
static void DR5_a_gap_that_one_rpc_claims_is_waited_out_and_not_believed_against_another(void **state)
{
    for (int signatures = 0; signatures < 2; signatures++) {
        restart(2, signatures);
        fakes[0].oldest = 13;
        fakes[1].latest = 9;
        fetch_fails(ERR_LEDGER_AHEAD);
        assert_int_equal(latest, 9);
        make_older(&rpcs->ledger, RPCS_ALONE_MS);
        fetch_fails(ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text,
            "RPC 1 of RPC_URL has dropped ledger 10, and RPC 2 says that it has not closed yet: find out"));
        fakes[1].latest = 8; /* it lacks a ledger that was committed: it says nothing about this one */
        fetch_fails(ERR_LEDGER_GAP);
        restart(2, signatures);
        fakes[0].oldest = 13;
        fakes[1].e = ERR_RPC_UNAVAILABLE;
        fetch_fails(ERR_LEDGER_AHEAD);
        make_older(&rpcs->ledger, rpcs->ledger_ms);
        fetch_fails(ERR_LEDGER_AHEAD);
        make_older(&rpcs->ledger, RPCS_ALONE_MS);
        fetch_fails(ERR_LEDGER_GAP);
    }
}

/* What the ingester takes for the network's latest ledger is then never far below the cursor. */
static void the_range_is_that_of_the_latest_and_at_first_of_the_earliest(void **state)
{
    struct rpc_ledgers out = {0};
    const struct feed feed = rpcs_feed(rpcs);
    fakes[0].latest = 3;
    fakes[1].latest = 9;
    fakes[2].latest = 8;
    fetch_fails(ERR_LEDGER_AHEAD);
    assert_int_equal(latest, 9);
    assert_int_equal(feed.ledgers(feed.source, UINT32_MAX, 1, &out, &detail), ERR_LEDGER_AHEAD);
    assert_int_equal(out.latest_ledger, 3);
}

static void an_error_of_all_is_returned_with_its_rpc(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
        fakes[i].e = ERR_RPC_REFUSED;
    fetch_fails(ERR_RPC_REFUSED);
    assert_non_null(strstr(detail.text, "RPC 1 of RPC_URL: "));
    fakes[2].e = ERR_CANCELLED;
    fetch_fails(ERR_CANCELLED);
}

static void what_one_alone_said_long_ago_is_waited_for_again(void **state)
{
    restart(2, true);
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    fetch_fails(ERR_LEDGER_AHEAD);
    rpcs->ledger.since_ms -= 36000000;
    rpcs->ledger.seen_ms -= 36000000;
    fetch_fails(ERR_LEDGER_AHEAD);
}

/* ---- reads */

static enum err (*const reads[])(void) = {read_account, read_frozen};

static void what_two_say_of_accounts_counts_as_of_the_earlier_ledger(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        restart(3, false);
        fakes[0].latest = UINT32_MAX;
        fakes[1].latest = 9;
        fakes[2].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(reads[i](), ERR_OK);
        assert_int_equal(as_of, 9);
        fakes[0].account.sequence = 6;
        fakes[0].frozen.bytes[0] = 1;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE);
        assert_non_null(
            strstr(detail.text, i == 0 ? "differ about account G" : "differ about the frozen keys"));
        fakes[2].e = ERR_OK;
        assert_int_equal(reads[i](), ERR_OK);
        assert_int_equal(as_of, 9);
    }
}

static void any_difference_of_accounts_counts(void **state)
{
    static const struct rpc_account lies[] = {{.found = false},
        {.found = true, .sequence = 6, .balance_stroops = 1},
        {.found = true, .sequence = 5, .own_authority = true, .balance_stroops = 1},
        {.found = true, .sequence = 5, .balance_stroops = 2},
        {.found = true, .sequence = 5, .balance_stroops = 1, .reserves = 1},
        {.found = true, .sequence = 5, .balance_stroops = 1, .selling_stroops = 1}};
    restart(2, false);
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        fakes[0].account = lies[i];
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "RPCs 1 and 2 of RPC_URL differ about account G"));
    }
}

static void a_read_that_one_alone_answers_is_waited_out(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        restart(2, true);
        fakes[i].e = ERR_RPC_REFUSED;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "no other RPC"));
        make_older(&rpcs->read, RPCS_ALONE_MS);
        assert_int_equal(reads[i](), ERR_OK);
        fakes[i].e = ERR_OK;
        assert_int_equal(reads[i](), ERR_OK);
        fakes[i].e = ERR_RPC_REFUSED;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE); /* from the beginning */
    }
}

/* What a client acts on: with a wrong result it would pay twice, or not at all. */
static void how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same(void **state)
{
    static const struct rpc_transaction others[] = {{.status = RPC_TRANSACTION_NOT_FOUND},
        {.status = RPC_TRANSACTION_FAILED, .code = -1, .ledger = 9},
        {.status = RPC_TRANSACTION_SUCCESS, .ledger = 10},
        {.status = RPC_TRANSACTION_SUCCESS, .ledger = 9, .result = {1, {7}}}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        restart(2, true);
        fakes[1].transaction = others[i];
        assert_int_equal(transaction_status(), RPC_TRANSACTION_NOT_FOUND);
        fakes[1].transaction = fakes[0].transaction;
        assert_int_equal(transaction_status(), RPC_TRANSACTION_SUCCESS);
        fakes[1].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(transaction_status(), RPC_TRANSACTION_NOT_FOUND);
        rpcs->sources[1].left_out = true;
        assert_int_equal(transaction_status(), RPC_TRANSACTION_SUCCESS);
    }
}

static void the_network_is_that_of_the_first_answer(void **state)
{
    struct rpc_network out;
    const struct feed feed = rpcs_feed(rpcs);
    fakes[0].hangs = true;
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    fakes[2].latest = 28;
    const int64_t begun_ms = clock_ms();
    assert_int_equal(feed.network(feed.source, &out, &detail), ERR_OK);
    assert_int_equal(out.protocol, 28);
    assert_true(clock_ms() - begun_ms < rpcs->ledger_ms);
}

static void an_rpc_that_is_alone_needs_no_other_and_no_thread(void **state)
{
    restart(1, false);
    fetches(3);
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(transaction_status(), RPC_TRANSACTION_SUCCESS);
    assert_int_equal(rpcs->number, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(DR4_two_that_have_the_same_ledgers_are_enough),
        TEST(DR4_a_ledger_with_another_hash_at_a_second_rpc_stops_ingestion),
        TEST(two_that_differ_wait_for_a_third_one),
        TEST(DR4_a_ledger_that_only_one_has_is_waited_for),
        TEST(one_that_fails_or_lags_is_waited_for_once),
        TEST(DR6_two_that_have_both_been_left_out_take_part_again),
        TEST(DR6_an_answer_to_an_earlier_question_about_the_ledger_counts),
        TEST(rpcs_that_are_all_slow_are_waited_for),
        TEST(DR6_one_that_hangs_costs_one_wait_and_nobody_else_time),
        TEST(of_three_one_that_hangs_costs_nothing),
        TEST(a_gap_is_one_only_when_two_say_so),
        TEST(DR5_a_gap_that_one_rpc_claims_is_waited_out_and_not_believed_against_another),
        TEST(the_range_is_that_of_the_latest_and_at_first_of_the_earliest),
        TEST(an_error_of_all_is_returned_with_its_rpc),
        TEST(what_one_alone_said_long_ago_is_waited_for_again),
        TEST(what_two_say_of_accounts_counts_as_of_the_earlier_ledger),
        TEST(any_difference_of_accounts_counts),
        TEST(a_read_that_one_alone_answers_is_waited_out),
        TEST(how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same),
        TEST(the_network_is_that_of_the_first_answer),
        TEST(an_rpc_that_is_alone_needs_no_other_and_no_thread),
    };
    return cmocka_run_group_tests_name("rpc/rpcs", tests, NULL, NULL);
}
