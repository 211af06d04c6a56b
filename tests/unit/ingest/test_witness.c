/* Rules of ingest/witness.h: which RPC is followed, which ones take part, and what two of them have to say.
 */
#include <string.h>

#include "check.h"
#include "base/clock.h"
#include "base/deadlines.h"
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
static uint32_t as_of;  /* of the last read */
static uint32_t latest; /* of the last fetch */
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

/* Sets the limit of all outages. */
static void outages(int limit_ms)
{
    witness.stalled.limit_ms = witness.unconfirmed.limit_ms = limit_ms;
    witness.unread_recovering.limit_ms = witness.unread_confirming.limit_ms = limit_ms;
}

static int set_up(void **state)
{
    witness = witness_init();
    witness.count = ARRAY_LEN(fakes);
    for (size_t i = 0; i < witness.count; i++)
        witness.rpcs[i].feed = witness.rpcs[i].check = feed_of(&fakes[i]);
    outages(3600000);
    return 0;
}

/* Number of ledgers from 10 on, or 0 with *e. */
static size_t fetch(enum err *e)
{
    struct rpc_ledgers out CLEANUP(rpc_ledgers_free) = {0};
    const struct feed feed = witness_feed(&witness);
    detail = (struct detail){""};
    *e = feed.ledgers(feed.source, 10, 3, &out, &detail);
    latest = out.latest_ledger;
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

static enum err confirm_account(void)
{
    const struct public_key key = {{1}};
    struct rpc_account out;
    const struct feed feed = witness_confirm_feed(&witness);
    detail = (struct detail){""};
    return feed.accounts(feed.source, &key, 1, &out, &as_of, &detail);
}

static enum err confirm_frozen(void)
{
    struct frozen_accounts out CLEANUP(frozen_accounts_free) = {0};
    const struct feed feed = witness_confirm_feed(&witness);
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

/* The outage has lasted for its limit. */
static void reach_limit(struct outage *outage)
{
    assert_true(outage->since_ms != 0);
    outage->since_ms -= outage->limit_ms;
}

static void use_two_rpcs(void)
{
    witness.count = 2;
}

static void DR4_rpcs_that_agree_are_followed_and_the_first_that_answers_is_enough(void **state)
{
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
    enum err e;
    use_two_rpcs();
    fakes[1].hash = 8;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    assert_non_null(strstr(detail.text, "ledger 10 has the hash 0700"));
    assert_non_null(strstr(detail.text, " at RPC 1 of RPC_URL and 0800"));
    assert_non_null(strstr(detail.text, " at RPC 2: find out"));
    fakes[1].hash = 7;
    assert_int_equal(fetch(&e), 3);
}

/* Otherwise an RPC could invent ledgers that the network has not closed yet. */
static void DR4_ledgers_that_a_second_rpc_does_not_have_yet_are_waited_for(void **state)
{
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
    enum err (*const reads[])(void) = {read_account, read_frozen};
    outages(1);
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
    enum err e;
    fakes[0].oldest = 11;
    assert_int_equal(fetch(&e), 1);
    assert_int_equal(fakes[2].requests, 1); /* compared with what the second one said */
    assert_int_equal(witness.followed, 1);
    assert_int_equal(fetch(&e), 3);
    fakes[1].oldest = 11;
    fakes[2].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_GAP); /* two say so */
}

/* Promise 1: in the recovery from a gap, that RPC alone would say what became of leases. */
static void a_gap_that_one_rpc_claims_is_not_believed_while_another_one_is_at_the_tip(void **state)
{
    enum err e;
    use_two_rpcs();
    fakes[0].oldest = 13;
    fakes[1].latest = 10;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD); /* no other one has confirmed it yet */
    reach_limit(&witness.unconfirmed);
    assert_int_equal(fetch(&e), 1);
    fakes[0].requests = 0;
    fakes[1].latest = 9;
    for (int i = 0; i < 2; i++) {
        fetch(&e);
        assert_int_equal(e, ERR_LEDGER_AHEAD);
        fakes[0].account.sequence = 6;
        assert_int_equal(read_account(), ERR_OK);
        assert_int_equal(fakes[0].requests, 0);
        assert_int_equal(as_of, 9);
    }
}

static void a_gap_is_contradicted_by_an_rpc_that_says_that_the_ledger_has_not_closed(void **state)
{
    enum err e;
    fakes[0].oldest = 11;
    fakes[1].latest = 9;
    fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    reach_limit(&witness.stalled);
    fetch(&e);
    assert_int_equal(e, ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text,
        "RPC 1 of RPC_URL has dropped ledger 10, and RPC 2 says that it has not closed yet: find out"));
    fakes[1].latest = 8; /* it lacks a ledger that was committed: it says nothing about this one */
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_GAP);
}

static void a_gap_that_no_other_rpc_confirms_is_waited_out(void **state)
{
    enum err e;
    fakes[0].oldest = 11;
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    reach_limit(&witness.stalled);
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_GAP);
    assert_int_equal(read_account(), ERR_OK);
    outage_end(&witness.stalled); /* a retry of the recovery does not wait again */
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_GAP);
    fakes[1].e = ERR_OK; /* it has what the other one says it has dropped */
    fetch(&e);
    assert_int_equal(witness.followed, 1);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
}

/* It answers, so no call fails over from it. */
static void an_rpc_that_has_no_new_ledger_for_long_is_not_followed_any_more(void **state)
{
    enum err e;
    fakes[0].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    assert_int_equal(fakes[1].requests + fakes[2].requests, 0); /* every poll at the tip */
    reach_limit(&witness.stalled);
    assert_int_equal(fetch(&e), 1);
    assert_int_equal(fakes[2].requests, 1); /* compared */
    assert_int_equal(witness.followed, 1);
    fakes[0].requests = 0;
    fakes[1].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD); /* waited for again */
    assert_int_equal(fakes[0].requests, 0);
}

/* What the ingester sees as the network's latest ledger is then never far below the cursor. */
static void an_rpc_that_lacks_committed_ledgers_is_not_followed(void **state)
{
    enum err e;
    fakes[0].latest = 3;
    fakes[1].latest = 8;
    fakes[2].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    assert_int_equal(latest, 9);
    assert_int_equal(witness.followed, 2);
    fakes[2].latest = 3; /* a third one lacks them too: nothing is known */
    fakes[1].latest = 3;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    assert_int_equal(latest, 3);
}

static void an_rpc_that_was_missing_long_ago_is_waited_for_again(void **state)
{
    enum err e;
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    witness.unconfirmed.since_ms -= 36000000;
    witness.unconfirmed.last_ms -= 36000000;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
}

static void rpcs_that_stay_unavailable_are_left_out_and_asked_again_now_and_then(void **state)
{
    enum err e;
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    reach_limit(&witness.unconfirmed);
    assert_int_not_equal(fetch(&e), 0);
    fakes[1].requests = 0;
    assert_int_not_equal(fetch(&e), 0);
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(fakes[1].requests, 0);
    witness.rpcs[1].left_out_ms = clock_ms();
    assert_int_not_equal(fetch(&e), 0); /* nothing waits for it */
    assert_int_equal(fakes[1].requests, 1);
    assert_int_not_equal(fetch(&e), 0);
    assert_int_equal(fakes[1].requests, 1);
    witness.rpcs[1].left_out_ms = clock_ms();
    fakes[1].e = ERR_OK;
    fakes[1].hash = 8;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
    set_up(state);
    witness.rpcs[1].left_out_ms = witness.rpcs[2].left_out_ms = clock_ms();
    assert_int_not_equal(fetch(&e), 0);
    assert_int_equal(witness.rpcs[1].left_out_ms, 0); /* compared from now on */
    fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
}

/* Otherwise one that hangs costs its timeout with every ledger. */
static void the_rpc_that_has_confirmed_last_is_asked_first(void **state)
{
    enum err e;
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    assert_int_equal(fetch(&e), 3);
    assert_int_equal(fetch(&e), 2); /* fewer: they may have been too large for an answer in time */
    assert_int_equal(fakes[1].requests, 1);
    assert_int_equal(fakes[2].requests, 2);
    assert_int_equal(fetch(&e), 3);
}

static void one_of_three_that_has_another_hash_stops_nothing(void **state)
{
    for (size_t liar = 0; liar < ARRAY_LEN(fakes); liar++) {
        enum err e;
        set_up(state);
        fakes[liar].hash = 8;
        if (fetch(&e) == 0)
            assert_int_equal(
                e, ERR_LEDGER_MISMATCH); /* the one that is followed: another one is, from now on */
        assert_int_equal(fetch(&e), 3);
        assert_int_not_equal(witness.followed, liar);
    }
    enum err e;
    set_up(state);
    fakes[1].hash = 8;
    fakes[2].latest = 9;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD); /* the third one may have it soon */
    reach_limit(&witness.unconfirmed);
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_MISMATCH);
}

/* Two RPCs, of which one has two ledgers more than the other: then that ledger is remembered. */
static void let_one_lead(size_t ahead)
{
    enum err e;
    set_up(NULL);
    use_two_rpcs();
    fakes[1 - ahead].latest = 10;
    assert_int_equal(fetch(&e), 1);
    assert_int_equal(witness.mark.sequence, 12);
    assert_int_equal(witness.mark.behind, 1 - ahead);
    fakes[1 - ahead].latest = 12;
}

/* Each ledger that waited for it would be too old for grants. */
static void an_rpc_that_has_ledgers_long_after_another_is_left_out(void **state)
{
    enum err e;
    let_one_lead(0);
    witness.mark.since_ms -= WITNESS_LATE_MS;
    assert_int_equal(fetch(&e), 3); /* it has confirmed these */
    assert_true(witness_alone(&witness));
    fakes[1].latest = 9;
    assert_int_equal(fetch(&e), 3);
    witness.rpcs[1].left_out_ms = clock_ms();
    assert_int_equal(fetch(&e), 3); /* still late */
    assert_true(witness_alone(&witness));
    witness.rpcs[1].left_out_ms = clock_ms();
    fakes[1].latest = 12;
    assert_int_equal(fetch(&e), 3);
    assert_false(witness_alone(&witness));

    let_one_lead(1);
    witness.mark.since_ms -= WITNESS_LATE_MS;
    fetch(&e);
    assert_int_equal(e, ERR_LEDGER_AHEAD);
    assert_int_equal(witness.followed, 1);
    assert_true(witness_alone(&witness));
    assert_int_equal(fetch(&e), 3);
}

static void an_rpc_is_not_late_without_proof(void **state)
{
    for (size_t ahead = 0; ahead < 2; ahead++)
        for (int i = 0; i < 4; i++) {
            enum err e;
            let_one_lead(ahead);
            witness.mark.since_ms -= i == 0 ? WITNESS_LATE_MS / 2 : WITNESS_LATE_MS;
            if (i == 1) /* the one that is ahead had invented it */
                witness.mark.hash.bytes[0] = 9;
            else if (i == 2) /* it was not asked for long */
                witness.mark.seen_ms -= WITNESS_LATE_MS;
            else if (i == 3) /* it had it soon, but was behind the cursor */
                witness.mark.had_ms = witness.mark.since_ms + 1;
            assert_int_equal(fetch(&e), 3);
            assert_false(witness_alone(&witness));
            assert_int_equal(witness.mark.sequence, 0);
        }
    enum err e;
    set_up(state);
    use_two_rpcs();
    fakes[1].latest = 11; /* one ledger apart */
    assert_int_equal(fetch(&e), 2);
    assert_int_equal(witness.mark.sequence, 0);
}

/* It names the right hash, so the comparison does not find that. */
static void an_rpc_whose_ledger_does_not_prove_itself_is_not_followed(void **state)
{
    enum err e;
    const struct feed feed = witness_feed(&witness);
    assert_int_equal(fetch(&e), 3);
    feed.distrust(feed.source);
    assert_int_equal(witness.followed, 1);
    fakes[0].requests = 0;
    assert_int_equal(fetch(&e), 3);
}

static void rpcs_that_differ_about_an_account_or_the_frozen_keys_confirm_nothing(void **state)
{
    static const struct rpc_account lies[] = {{.found = false}, {.found = true, .sequence = 6},
        {.found = true, .sequence = 5, .own_authority = true}};
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        fakes[0].account = lies[i];
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "RPCs 1 and 2 of RPC_URL differ about account G"));
    }
    fakes[0].frozen.bytes[0] = 1;
    assert_int_equal(read_frozen(), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "RPCs 1 and 2 of RPC_URL differ about the frozen keys"));
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    assert_int_equal(read_frozen(), ERR_RPC_UNAVAILABLE);
    assert_non_null(strstr(detail.text, "RPCs 1 and 3 of RPC_URL differ about the frozen keys"));
}

static void an_rpc_that_answers_with_an_error_is_not_followed_any_more(void **state)
{
    static const enum err errors[] = {ERR_RPC_UNAVAILABLE, ERR_RPC_REFUSED};
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        enum err e;
        set_up(state);
        fakes[0].e = errors[i];
        assert_int_equal(fetch(&e), 1);
        assert_int_equal(fakes[2].requests, 1); /* compared */
        assert_int_equal(witness.followed, 1);
        set_up(state);
        fakes[0].e = errors[i];
        fakes[1].latest = fakes[2].latest = 9; /* the tip */
        fetch(&e);
        assert_int_equal(e, ERR_LEDGER_AHEAD);
        assert_int_equal(witness.followed, 1);
        set_up(state);
        fakes[0].e = errors[i];
        fakes[1].e = fakes[2].e = ERR_RPC_UNAVAILABLE;
        fetch(&e);
        assert_int_equal(e, errors[i]);
        assert_int_equal(witness.followed, 0);
    }
    enum err e;
    set_up(state);
    fakes[0].e = ERR_CANCELLED;
    fetch(&e);
    assert_int_equal(e, ERR_CANCELLED);
    assert_int_equal(fakes[1].requests, 0);
}

/* Otherwise no gap could be recovered, although another RPC says what is needed. */
static void another_rpc_is_asked_for_what_the_one_that_is_followed_does_not_return(void **state)
{
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

/* The ledger that claims the change is of the RPC that is followed: the read of another one is a second
 * opinion. Otherwise a liar that refuses reads could have the whole pool quarantined. */
static void to_confirm_a_change_one_answer_of_another_rpc_is_enough(void **state)
{
    enum err (*const reads[])(void) = {confirm_account, confirm_frozen};
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        set_up(state);
        use_two_rpcs();
        assert_int_equal(reads[i](), ERR_OK);
        fakes[0].e = ERR_RPC_REFUSED;
        fakes[1].latest = 11;
        assert_int_equal(reads[i](), ERR_OK);
        assert_int_equal(as_of, 11);
        fakes[0].e = ERR_OK;
        fakes[0].account.sequence = 6;
        fakes[0].frozen.bytes[0] = 1;
        fakes[1].latest = 12;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "differ about"));
    }
}

/* Ledgers may be confirmed meanwhile: that says nothing about reads. */
static void reads_that_no_other_rpc_answers_are_waited_for_and_then_used_alone(void **state)
{
    enum err (*const reads[])(void) = {read_account, read_frozen, confirm_account, confirm_frozen};
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        enum err e;
        set_up(state);
        use_two_rpcs();
        fakes[1].e = ERR_RPC_REFUSED;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "no other RPC"));
        fakes[1].e = ERR_OK;
        assert_int_equal(fetch(&e), 3);
        fakes[1].e = ERR_RPC_REFUSED;
        reach_limit(i < 2 ? &witness.unread_recovering : &witness.unread_confirming);
        assert_int_equal(reads[i](), ERR_OK);
    }
}

/* What a client acts on: with a wrong result it would pay twice, or not at all. */
static void how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same(void **state)
{
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
    for (size_t i = 1; i < ARRAY_LEN(fakes); i++)
        witness.rpcs[i].left_out_ms = clock_ms() + 3600000;
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
        TEST(a_gap_that_one_rpc_claims_is_not_believed_while_another_one_is_at_the_tip),
        TEST(a_gap_is_contradicted_by_an_rpc_that_says_that_the_ledger_has_not_closed),
        TEST(a_gap_that_no_other_rpc_confirms_is_waited_out),
        TEST(an_rpc_that_has_no_new_ledger_for_long_is_not_followed_any_more),
        TEST(an_rpc_that_lacks_committed_ledgers_is_not_followed),
        TEST(an_rpc_that_was_missing_long_ago_is_waited_for_again),
        TEST(rpcs_that_stay_unavailable_are_left_out_and_asked_again_now_and_then),
        TEST(the_rpc_that_has_confirmed_last_is_asked_first),
        TEST(one_of_three_that_has_another_hash_stops_nothing),
        TEST(an_rpc_that_has_ledgers_long_after_another_is_left_out),
        TEST(an_rpc_is_not_late_without_proof),
        TEST(an_rpc_whose_ledger_does_not_prove_itself_is_not_followed),
        TEST(rpcs_that_differ_about_an_account_or_the_frozen_keys_confirm_nothing),
        TEST(an_rpc_that_answers_with_an_error_is_not_followed_any_more),
        TEST(another_rpc_is_asked_for_what_the_one_that_is_followed_does_not_return),
        TEST(to_confirm_a_change_one_answer_of_another_rpc_is_enough),
        TEST(reads_that_no_other_rpc_answers_are_waited_for_and_then_used_alone),
        TEST(how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same),
    };
    return cmocka_run_group_tests_name("ingest/witness", tests, NULL, NULL);
}
