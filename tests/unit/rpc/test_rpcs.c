/* Rules of rpc/rpcs.h: what two RPCs have to say of what they read, and how long one is waited for. The test
 * may stand still for seconds: limits are far away, and tests make what was asked older. */
#include <limits.h>
#include <string.h>

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
    uint32_t latest;
    struct account_entry account;
    struct public_key frozen;
    struct rpc_transaction transaction;
    bool hangs;
    unsigned looks;  /* so many more find no answer to a read of accounts */
    unsigned behind; /* so many more reads of accounts are as of the ledger before */
};

static enum err network(void *source, struct rpc_network *out, struct detail *detail)
{
    struct fake *fake = source;
    if (fake->hangs)
        return ERR_NOT_YET;
    *out = (struct rpc_network){.node_protocol = fake->latest};
    return fake->e;
}

static enum err accounts(void *source, const struct public_key keys[], size_t count,
    struct account_entry out[], uint32_t *ledger, struct detail *detail)
{
    struct fake *fake = source;
    (void)keys, (void)detail;
    if (fake->hangs || fake->looks > 0) {
        fake->looks -= fake->looks > 0;
        return ERR_NOT_YET;
    }
    const bool behind = fake->behind > 0;
    fake->behind -= behind;
    *ledger = fake->latest - behind;
    for (size_t i = 0; i < count; i++) {
        out[i] = fake->account;
        out[i].balance_stroops += behind;
    }
    return fake->e;
}

static enum err frozen(void *source, struct frozen_accounts *out, uint32_t *ledger, struct detail *detail)
{
    struct fake *fake = source;
    if (fake->hangs)
        return ERR_NOT_YET;
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
    if (fake->hangs)
        return ERR_NOT_YET;
    *out = fake->transaction;
    return fake->e;
}

static struct fake fakes[3];
static struct rpcs *rpcs;
static uint32_t as_of; /* of the last read */
static struct detail detail;

static void start(size_t count)
{
    struct feed feeds[ARRAY_LEN(fakes)];
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++) {
        fakes[i] = (struct fake){.latest = 12,
            .account = {.sequence = 5, .balance_stroops = 1},
            .transaction = {.status = RPC_TRANSACTION_SUCCESS, .ledger = 9, .latest_ledger = 12}};
        feeds[i] = (struct feed){NULL, network, accounts, frozen, transaction, &fakes[i]};
    }
    rpcs = rpcs_start_feeds(feeds, count, &(struct rpcs_settings){.ledger_ms = LEDGER_MS});
}

static int set_up(void **state)
{
    start(ARRAY_LEN(fakes));
    return 0;
}

static int tear_down(void **state)
{
    rpcs_stop(rpcs);
    return 0;
}

static void restart(size_t count)
{
    tear_down(NULL);
    start(count);
}

/* Those that have just failed too. */
static void ask_again(void)
{
    for (size_t i = 0; i < rpcs->count; i++)
        rpcs->sources[i].again_ms = 0;
}

static enum err read_account(void)
{
    const struct public_key key = {{1}};
    struct account_entry out;
    const struct feed feed = rpcs_feed(rpcs);
    detail = (struct detail){""};
    ask_again();
    return feed.accounts(feed.source, &key, 1, &out, &as_of, &detail);
}

static enum err read_frozen(void)
{
    struct frozen_accounts out CLEANUP(frozen_accounts_free) = {0};
    const struct feed feed = rpcs_feed(rpcs);
    detail = (struct detail){""};
    ask_again();
    return feed.frozen(feed.source, &out, &as_of, &detail);
}

static enum rpc_transaction_status transaction_status(void)
{
    const struct hash hash = {{1}};
    struct rpc_transaction out;
    const struct feed feed = rpcs_feed(rpcs);
    assert_int_equal(feed.transaction(feed.source, &hash, &out, &detail), ERR_OK);
    return out.status;
}

/* One alone has answered for this long. */
static void make_older(int ms)
{
    assert_true(rpcs->alone_since_ms != 0);
    rpcs->alone_since_ms -= ms;
}

/* ---- reads */

static enum err (*const reads[])(void) = {read_account, read_frozen};

TEST_WITH(what_two_say_of_accounts_counts_as_of_the_earlier_ledger, set_up, tear_down)
{
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        restart(3);
        fakes[0].latest = UINT32_MAX;
        fakes[1].latest = 9;
        fakes[2].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(reads[i](), ERR_OK);
        assert_int_equal(as_of, 9);
        rpcs->ledger_ms = 100;
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

TEST_WITH(one_that_is_a_ledger_behind_is_asked_again_for_two_ledgers, set_up, tear_down)
{
    restart(2);
    rpcs->ledger_ms = 800;
    fakes[1].behind = 3;
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(as_of, 12);
    fakes[1].behind = UINT_MAX;
    assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
}

TEST_WITH(any_difference_of_accounts_counts, set_up, tear_down)
{
    static const struct account_entry lies[] = {{.removed = true}, {.sequence = 6, .balance_stroops = 1},
        {.sequence = 5, .own_authority = true, .balance_stroops = 1}, {.sequence = 5, .balance_stroops = 2},
        {.sequence = 5, .balance_stroops = 1, .reserves = 1},
        {.sequence = 5, .balance_stroops = 1, .selling_stroops = 1},
        {.sequence = 5, .balance_stroops = 1, .cannot_sign = true},
        {.sequence = 5, .balance_stroops = 1, .bare = true},
        {.sequence = 5, .balance_stroops = 1, .immutable = true}};
    restart(2);
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        fakes[0].account = lies[i];
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "RPCs 1 and 2 of RPC_URL differ about account G"));
    }
}

TEST_WITH(a_read_that_one_alone_answers_is_waited_out, set_up, tear_down)
{
    for (size_t i = 0; i < ARRAY_LEN(reads); i++) {
        restart(2);
        fakes[i].e = ERR_RPC_REFUSED;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE);
        assert_non_null(strstr(detail.text, "no other RPC"));
        make_older(RPCS_ALONE_MS);
        assert_int_equal(reads[i](), ERR_OK);
        fakes[i].e = ERR_OK;
        assert_int_equal(reads[i](), ERR_OK);
        fakes[i].e = ERR_RPC_REFUSED;
        assert_int_equal(reads[i](), ERR_RPC_UNAVAILABLE); /* from the beginning */
    }
}

/* An answer to an earlier question is none to a later one. */
TEST_WITH(one_that_hangs_is_waited_for_once, set_up, tear_down)
{
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++) {
        restart(3);
        fakes[i].hangs = true;
        const int64_t begun_ms = clock_ms();
        for (int n = 0; n < 5; n++)
            assert_int_equal(read_account(), ERR_OK);
        assert_true(clock_ms() - begun_ms < LEDGER_MS);
    }
    restart(2);
    rpcs->ledger_ms = 100;
    fakes[0].hangs = true;
    const int64_t begun_ms = clock_ms();
    for (int n = 0; n < 5; n++)
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
    assert_in_range(clock_ms() - begun_ms, 100, 5000);
    fakes[0].account.sequence = 6;
    fakes[0].hangs = false;
    fakes[0].account.sequence = 5;
    assert_int_equal(read_account(), ERR_OK);
}

/* Also when its answer to the earlier question comes between two looks of one round. */
TEST_WITH(one_that_becomes_free_is_asked, set_up, tear_down)
{
    for (unsigned looks = 1; looks < 8; looks++) {
        restart(2);
        rpcs->ledger_ms = 100;
        fakes[0].hangs = true;
        assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
        rpcs->ledger_ms = LEDGER_MS;
        fakes[0].hangs = false;
        fakes[0].looks = looks;
        assert_int_equal(read_account(), ERR_OK);
    }
}

TEST_WITH(an_error_of_all_is_returned_with_its_rpc, set_up, tear_down)
{
    for (size_t i = 0; i < ARRAY_LEN(fakes); i++)
        fakes[i].e = ERR_RPC_REFUSED;
    assert_int_equal(read_account(), ERR_RPC_REFUSED);
    assert_non_null(strstr(detail.text, "RPC 1 of RPC_URL: "));
    fakes[2].e = ERR_CANCELLED;
    assert_int_equal(read_account(), ERR_CANCELLED);
}

TEST_WITH(what_one_alone_said_long_ago_is_waited_for_again, set_up, tear_down)
{
    restart(2);
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
    rpcs->alone_since_ms -= 36000000;
    rpcs->alone_seen_ms -= 36000000;
    assert_int_equal(read_account(), ERR_RPC_UNAVAILABLE);
}

/* What a client acts on: with a wrong result it would pay twice, or not at all. */
TEST_WITH(how_a_transaction_ended_counts_only_when_two_rpcs_say_the_same, set_up, tear_down)
{
    static const struct rpc_transaction others[] = {{.status = RPC_TRANSACTION_NOT_FOUND},
        {.status = RPC_TRANSACTION_FAILED, .code = -1, .ledger = 9},
        {.status = RPC_TRANSACTION_SUCCESS, .ledger = 10},
        {.status = RPC_TRANSACTION_SUCCESS, .ledger = 9, .result = {1, {7}}}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        restart(2);
        fakes[1].transaction = others[i];
        assert_int_equal(transaction_status(), RPC_TRANSACTION_NOT_FOUND);
        fakes[1].transaction = fakes[0].transaction;
        assert_int_equal(transaction_status(), RPC_TRANSACTION_SUCCESS);
        fakes[1].e = ERR_RPC_UNAVAILABLE;
        assert_int_equal(transaction_status(), RPC_TRANSACTION_NOT_FOUND);
        (void)read_account();
        make_older(RPCS_ALONE_MS);
        assert_int_equal(transaction_status(), RPC_TRANSACTION_SUCCESS);
    }
}

TEST_WITH(the_network_is_that_of_the_first_answer, set_up, tear_down)
{
    struct rpc_network out;
    const struct feed feed = rpcs_feed(rpcs);
    fakes[0].hangs = true;
    fakes[1].e = ERR_RPC_UNAVAILABLE;
    fakes[2].latest = 28;
    const int64_t begun_ms = clock_ms();
    assert_int_equal(feed.network(feed.source, &out, &detail), ERR_OK);
    assert_int_equal(out.node_protocol, 28);
    assert_true(clock_ms() - begun_ms < rpcs->ledger_ms);
}

TEST_WITH(an_rpc_that_is_alone_needs_no_other, set_up, tear_down)
{
    restart(1);
    assert_int_equal(read_account(), ERR_OK);
    assert_int_equal(transaction_status(), RPC_TRANSACTION_SUCCESS);
    assert_int_equal(rpcs->reads, 0);
}
