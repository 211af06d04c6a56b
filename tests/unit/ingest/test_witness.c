/* Two RPCs are compared (ingest/witness.h): one that lies alone stops ingestion, one that is unavailable does
 * not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "witness.h"

/* An RPC: what it answers. */
struct fake {
    enum err e;
    uint32_t latest, oldest;
    uint8_t hash; /* of its ledgers */
    struct rpc_account account;
    struct public_key frozen;
    struct rpc_transaction transaction;
    unsigned requests;
};

static enum err ledgers(
    void *source, uint32_t start, uint32_t limit, struct rpc_ledgers *out, struct detail *detail)
{
    struct fake *fake = source;
    (void)detail;
    fake->requests++;
    *out = (struct rpc_ledgers){.latest_ledger = fake->latest};
    if (fake->e != ERR_OK || start > fake->latest)
        return fake->e != ERR_OK ? fake->e : ERR_LEDGER_AHEAD;
    if (start < fake->oldest)
        return ERR_LEDGER_GAP;
    out->items = NEW_ARRAY(limit, struct rpc_ledger);
    for (uint32_t i = 0; i < limit && start + i <= fake->latest; i++)
        out->items[out->count++] = (struct rpc_ledger){.sequence = start + i, .hash = {{fake->hash}}};
    return ERR_OK;
}

static enum err accounts(void *source, const struct public_key keys[], size_t count, struct rpc_account out[],
    uint32_t *ledger, struct detail *detail)
{
    struct fake *fake = source;
    (void)keys, (void)detail;
    fake->requests++;
    *ledger = fake->latest;
    for (size_t i = 0; i < count; i++)
        out[i] = fake->account;
    return fake->e;
}

static enum err frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct fake *fake = source;
    (void)detail;
    fake->requests++;
    *ledger = fake->latest;
    *out = (struct frozen_accounts){0};
    if (fake->e != ERR_OK)
        return fake->e;
    *out = (struct frozen_accounts){.keys = NEW(struct public_key), .count = 1};
    out->keys[0] = fake->frozen;
    return fake->e;
}

static enum err transaction(
    void *source, const struct hash *hash, struct rpc_transaction *out, struct detail *detail)
{
    struct fake *fake = source;
    (void)hash, (void)detail;
    fake->requests++;
    *out = fake->transaction;
    return fake->e;
}

static struct fake fakes[3];
static uint32_t as_of; /* of the last read */
static struct witness witness;
static struct detail detail;

static struct feed feed_of(struct fake *fake)
{
    *fake = (struct fake){.latest = 12,
        .hash = 7,
        .account = {.found = true, .sequence = 5},
        .transaction = {.status = RPC_TRANSACTION_SUCCESS, .ledger = 9, .latest_ledger = 12}};
    return (struct feed){.ledgers = ledgers,
        .accounts = accounts,
        .frozen = frozen,
        .transaction = transaction,
        .source = fake};
}

static int set_up(void **state)
{
    (void)state;
    witness = (struct witness){.main = feed_of(&fakes[0]),
        .count = 2,
        .outage = {.limit_ms = 3600000},
        .stalled = {.limit_ms = 3600000}};
    witness.others[0] = feed_of(&fakes[1]);
    witness.others[1] = feed_of(&fakes[2]);
    return 0;
}

/* Number of ledgers from 10 on, or 0 with *e. */
static size_t fetch(enum err *e)
{
    struct rpc_ledgers out CLEANUP(rpc_ledgers_free) = {0};
    const struct feed feed = witness_feed(&witness);
    detail = (struct detail){""};
    *e = feed.ledgers(feed.source, 10, 3, &out, &detail);
    return *e == ERR_OK ? out.count : 0;
}

static enum err read_account(void)
{
    const struct public_key key = {{1}};
    struct rpc_account out;
    const struct feed feed = witness_feed(&witness);
    detail = (struct detail){""};
    return feed.accounts(feed.source, &key, 1, &out, &as_of, &detail);
}

static enum err read_frozen(void)
{
    struct frozen_accounts out CLEANUP(frozen_accounts_free) = {0};
    const struct feed feed = witness_feed(&witness);
    detail = (struct detail){""};
    return feed.frozen(feed.source, &out, &as_of, &detail);
}

static enum err read_transaction(struct rpc_transaction *out)
{
    const struct hash hash = {{1}};
    const struct feed feed = witness_feed(&witness);
    detail = (struct detail){""};
    return feed.transaction(feed.source, &hash, out, &detail);
}

/* After a call that found no other RPC: the next one is later than the limit. */
static void reach_limit(void)
{
    witness.outage.since_ms -= witness.outage.limit_ms;
}

static void DR4_rpcs_that_agree_are_followed_and_the_first_that_answers_is_enough(void **state)
{
    (void)state;
    enum err e;
    assert_int_equal(fetch(&e), 3);
    assert_int_equal(fakes[1].requests, 1);
    assert_int_equal(fakes[2].requests, 0);
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    assert_int_equal(fetch(&e), 3);
    assert_int_equal(fakes[2].requests, 1);
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(read_frozen(), ERR_OK);
}

static void DR4_a_ledger_with_another_hash_at_a_second_rpc_stops_ingestion(void **state)
{
    (void)state;
    enum err e;
    fakes[1].hash = 8;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    assert_non_null(strstr(detail.text, "ledger 10 has the hash 0700"));
    assert_non_null(strstr(detail.text, "0800"));
    fakes[1].hash = 7;
    assert_int_equal(fetch(&e), 3);
}

/* Otherwise an RPC could invent ledgers that the network has not closed yet. */
static void DR4_ledgers_that_a_second_rpc_does_not_have_yet_are_waited_for(void **state)
{
    (void)state;
    enum err e;
    fakes[1].latest = fakes[2].latest = 10;
    assert_int_equal(fetch(&e), 1);
    fakes[1].latest = fakes[2].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    fakes[2].latest = 12;
    assert_int_equal(fetch(&e), 3);
}

/* However far ahead an RPC pretends to be, what it says about an account has to be what others say. */
static void an_rpc_that_lags_confirms_what_it_says_too_as_of_its_own_ledger(void **state)
{
    (void)state;
    enum err (*const reads[])(void) = {read_account, read_frozen};
    witness.outage.limit_ms = 1;
    fakes[0].latest = UINT32_MAX;
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        fakes[1].latest = 8;
        fakes[2].latest = 9;
        assert_int_equal(reads[i](), ERR_OK);
        assert_int_equal(as_of, 9);
        fakes[2].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(reads[i](), ERR_OK);
        assert_int_equal(as_of, 8);
        fakes[2].e = ERR_OK;
    }
    fakes[0].account.sequence = 6;
    fakes[0].frozen.bytes[0] = 1;
    for (int tries = 0; tries < 3; tries++) { /* no limit ends that */
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "differ about account G"));
        assert_int_equal(read_frozen(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "differ about the frozen keys"));
        clock_sleep_ms(2);
    }
    fakes[0].latest = 12;
    fakes[2].latest = 12; /* it differs from the one that lags and agrees with the one that does not */
    fakes[2].account = fakes[0].account;
    fakes[2].frozen = fakes[0].frozen;
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(as_of, 12);
    assert_int_equal(read_frozen(), ERR_OK);
}

/* Otherwise one RPC with a short memory, or one that lies, makes a gap of ledgers that are there. */
static void a_ledger_that_one_rpc_has_dropped_is_read_from_another_and_compared(void **state)
{
    (void)state;
    enum err e;
    fakes[0].oldest = 11;
    assert_int_equal(fetch(&e), 1);
    assert_int_equal(fakes[2].requests, 1); /* compared with what the second one said */
    fakes[2].hash = 8;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    fakes[2].oldest = 11;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD); /* two RPCs have no other one to compare with yet */
    reach_limit();
    assert_int_equal(fetch(&e), 1);
    fakes[1].oldest = 11;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_GAP);
}

/* At the tip the others do not have the next ledger either, and an unavailable RPC cannot confirm a gap. */
static void a_gap_that_no_other_rpc_confirms_is_waited_out(void **state)
{
    (void)state;
    enum err e;
    fakes[0].oldest = 11;
    fakes[1].latest = 9;
    fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    fakes[1].latest = 10;
    fakes[2].e = ERR_OK;
    assert_int_equal(fetch(&e), 1);
    fakes[1].latest = 9;
    fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    reach_limit();
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_GAP);
}

/* It answers, so no call fails over from it. */
static void an_rpc_that_has_no_new_ledger_for_long_is_not_followed_any_more(void **state)
{
    (void)state;
    enum err e;
    fakes[0].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    assert_int_equal(fakes[1].requests + fakes[2].requests, 0); /* every poll at the tip */
    witness.stalled.since_ms -= witness.stalled.limit_ms;
    assert_int_equal(fetch(&e), 1);
    assert_int_equal(fakes[2].requests, 1); /* compared */
    fakes[1].latest = fakes[2].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    fakes[0].latest = fakes[1].latest = 12;
    assert_int_equal(fetch(&e), 3);
    fakes[0].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD); /* waited for again */
}

static void an_rpc_that_was_missing_long_ago_is_waited_for_again(void **state)
{
    (void)state;
    enum err e;
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    witness.outage.since_ms -= 36000000;
    witness.outage.last_ms -= 36000000;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
}

static void an_rpc_that_stays_unavailable_is_tolerated_and_asked_again_now_and_then(void **state)
{
    (void)state;
    enum err e;
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    reach_limit();
    assert_int_equal(fetch(&e), 3);
    witness.next_try_ms = clock_ms() + 3600000;
    fakes[1].requests = 0;
    assert_int_equal(fetch(&e), 3);
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(fakes[1].requests, 0);
    witness.next_try_ms = clock_ms();
    fakes[1].e = ERR_OK;
    fakes[1].hash = 8;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    fakes[1].hash = 7;
    assert_int_equal(fetch(&e), 3);
    assert_int_equal(witness.next_try_ms, 0); /* compared from now on */
}

static void rpcs_that_differ_about_an_account_or_the_frozen_keys_confirm_nothing(void **state)
{
    (void)state;
    static const struct rpc_account lies[] = {{.found = false}, {.found = true, .sequence = 6},
        {.found = true, .sequence = 5, .own_authority = true}};
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        fakes[0].account = lies[i];
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "differ about account G"));
    }
    fakes[0].frozen.bytes[0] = 1;
    assert_int_equal(read_frozen(), ERR_RPC_UNAVAILABLE);
}

/* A call fails over from an RPC that is unavailable, but not from one that answers with an error. */
static void an_rpc_that_answers_with_errors_for_long_is_not_followed_any_more(void **state)
{
    (void)state;
    static const enum err errors[] = {ERR_RPC_UNAVAILABLE, ERR_RPC_REFUSED};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        enum err e;
        fakes[0].e = errors[i];
        fetch(&e);
        assert_int_equal(e, errors[i]);
        assert_int_equal(fakes[1].requests + fakes[2].requests, 0);
        witness.stalled.since_ms -= witness.stalled.limit_ms;
        assert_int_equal(fetch(&e), 1);
        assert_int_equal(fakes[2].requests, 1); /* compared */
        fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
        fetch(&e);
        assert_int_equal(e, errors[i]);
        set_up(state);
    }
    enum err e;
    fakes[0].e = ERR_CANCELLED;
    witness.stalled = (struct outage){.limit_ms = 1, .since_ms = 1, .last_ms = clock_ms()};
    fetch(&e);
    assert_int_equal(e, ERR_CANCELLED);
    assert_int_equal(fakes[1].requests, 0);
}

/* Otherwise no gap could be recovered, although another RPC says what is needed. */
static void another_rpc_is_asked_for_what_the_one_that_is_followed_does_not_return(void **state)
{
    (void)state;
    enum err (*const reads[])(void) = {read_account, read_frozen};
    static const enum err errors[] = {ERR_RPC_UNAVAILABLE, ERR_RPC_REFUSED};
    for (size_t i = 0; i < ARRAY_LEN(reads) * ARRAY_LEN(errors); i++) {
        enum err (*const read)(void) = reads[i / ARRAY_LEN(errors)];
        set_up(state);
        fakes[0].e = errors[i % ARRAY_LEN(errors)];
        assert_int_equal(read(), ERR_OK);
        assert_int_equal(fakes[1].requests, 1);
        assert_int_equal(fakes[2].requests, 1);
        fakes[2].account.sequence = 6;
        fakes[2].frozen.bytes[0] = 1;
        assert_int_equal(read(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "differ about"));
        fakes[2].e = ERR_RPC_UNAVAILABLE; /* nobody is left to compare with yet */
        assert_int_equal(read(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "no other RPC"));
        fakes[1].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(read(), fakes[0].e);
    }
}

/* What a client acts on: with a wrong result it would pay twice, or not at all. */
static void how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same(void **state)
{
    (void)state;
    struct rpc_transaction found;
    static const struct rpc_transaction others[] = {{.status = RPC_TRANSACTION_NOT_FOUND},
        {.status = RPC_TRANSACTION_FAILED, .code = -1, .ledger = 9},
        {.status = RPC_TRANSACTION_SUCCESS, .ledger = 10}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        fakes[1].transaction = fakes[2].transaction = others[i];
        assert_int_equal(read_transaction(&found), ERR_OK);
        assert_int_equal(found.status, RPC_TRANSACTION_NOT_FOUND);
        assert_int_equal(found.latest_ledger, 12);
        fakes[2].transaction = fakes[0].transaction;
        assert_int_equal(read_transaction(&found), ERR_OK);
        assert_int_equal(found.status, RPC_TRANSACTION_SUCCESS);
    }
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    assert_int_equal(read_transaction(&found), ERR_OK);
    assert_int_equal(found.status, RPC_TRANSACTION_NOT_FOUND);
    witness.next_try_ms = clock_ms() + 3600000; /* ledgers are not compared either */
    assert_int_equal(read_transaction(&found), ERR_OK);
    assert_int_equal(found.status, RPC_TRANSACTION_SUCCESS);
    fakes[0].e = ERR_RPC_UNAVAILABLE;
    assert_int_equal(read_transaction(&found), ERR_RPC_UNAVAILABLE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
    const struct CMUnitTest tests[] = {
        TEST(DR4_rpcs_that_agree_are_followed_and_the_first_that_answers_is_enough),
        TEST(DR4_a_ledger_with_another_hash_at_a_second_rpc_stops_ingestion),
        TEST(DR4_ledgers_that_a_second_rpc_does_not_have_yet_are_waited_for),
        TEST(an_rpc_that_lags_confirms_what_it_says_too_as_of_its_own_ledger),
        TEST(a_ledger_that_one_rpc_has_dropped_is_read_from_another_and_compared),
        TEST(a_gap_that_no_other_rpc_confirms_is_waited_out),
        TEST(an_rpc_that_has_no_new_ledger_for_long_is_not_followed_any_more),
        TEST(an_rpc_that_was_missing_long_ago_is_waited_for_again),
        TEST(an_rpc_that_stays_unavailable_is_tolerated_and_asked_again_now_and_then),
        TEST(rpcs_that_differ_about_an_account_or_the_frozen_keys_confirm_nothing),
        TEST(an_rpc_that_answers_with_errors_for_long_is_not_followed_any_more),
        TEST(another_rpc_is_asked_for_what_the_one_that_is_followed_does_not_return),
        TEST(how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same),
    };
    return cmocka_run_group_tests_name("ingest/witness", tests, NULL, NULL);
}
