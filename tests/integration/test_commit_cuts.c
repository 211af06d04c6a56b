/*
 * DR2: the connection is cut at COMMIT, before COMMIT reaches the server or after it, so that the reply is
 * lost. The next reader finds what is true; nothing is done twice and nothing is left out. Grants are cut
 * many times; FAIRWAY_SIZE=long: 10,000.
 */
#include "support/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/ingest/ledger_commit.h"
#include "base/mem.h"
#include "support/ledger_feed.h"
#include "support/pool_rows.h"
#include "support/proxy.h"
#include "support/take_lead.h"

#define FIRST 100
#define ACCOUNTS 4

static unsigned cuts(void)
{
    const char *size = getenv("FAIRWAY_SIZE");
    return size != NULL && strcmp(size, "long") == 0 ? 10000 : 60;
}

static enum err commit(struct lead *lead, struct ledger_feed *feed, uint32_t sequence)
{
    struct ledger_committed committed;
    struct detail detail = {0};
    struct rpc_ledger named = ledger_feed_ledger(feed, sequence);
    return commit_received(lead, &named, &committed, &detail);
}

/* Opens a new session, which reads the cursor, as ingestion does after any error. */
static void take(struct lead *lead)
{
    lead_drop(lead);
    take_lead(lead);
}

static struct lead lead_at(const char *url)
{
    const struct network_id network = network_id_of(BUILT_PASSPHRASE);
    return (struct lead){.db = db_new(&(struct db_settings){.url = url, .name = "cut"}),
        .network = network,
        .locks = lock_numbers_of(&network),
        .ledger_ms = 5000};
}

/* Standard error, as a file from which the test reads its own lines. */
struct capture {
    FILE *file;
    int before;
};

static struct capture capture_begin(void)
{
    struct capture capture = {.file = tmpfile(), .before = dup(STDERR_FILENO)};
    assert_non_null(capture.file);
    dup2(fileno(capture.file), STDERR_FILENO);
    return capture;
}

/* Returns how many lines contain the text. */
static unsigned capture_end(struct capture *capture, const char *text)
{
    char line[2048];
    unsigned count = 0;
    dup2(capture->before, STDERR_FILENO);
    close(capture->before);
    rewind(capture->file);
    while (fgets(line, sizeof line, capture->file) != NULL)
        count += strstr(line, text) != NULL;
    fclose(capture->file);
    return count;
}

#define QUARANTINED "msg=\"channel account quarantined\""

/* Closes a ledger that gives account n another signer. */
static void close_foreign(struct ledger_feed *feed, uint64_t n)
{
    const struct built_account account = {.key = built_key(n), .sequence = 50, .foreign_signer = true};
    ledger_feed_close(feed, &(struct built_ledger){.accounts = &account, .account_count = 1});
}

/* An operator acts on these lines: none is false, or there twice. */
TEST(DR2_a_ledger_whose_COMMIT_was_cut_or_refused_logs_its_quarantine_when_it_is_committed)
{
    static const enum proxy_fault faults[] = {PROXY_CUT_BEFORE, PROXY_CUT_AFTER, PROXY_NONE};
    struct test_db test = test_db_new(TEST_DB_MIGRATED);
    struct ledger_feed *feed = ledger_feed_new(FIRST, 0);
    struct proxy *proxy = proxy_new(test_pg_port());
    AUTO_FREE char *url = test_db_url_through(&test, proxy_port(proxy));
    struct lead lead = lead_at(url);
    take(&lead);
    assert_int_equal(commit(&lead, feed, FIRST), ERR_OK);
    for (unsigned i = 0; i < ARRAY_LEN(faults); i++) {
        const uint32_t sequence = FIRST + 1 + i;
        take(&lead); /* the proxy sees a statement's text only when its session prepares it */
        account_row(&test, i + 1, "active");
        lease_row(&test, i + 1, "", 0);
        close_foreign(feed, i + 1);
        if (faults[i] == PROXY_NONE)
            test_db_exec(&test, "ALTER TABLE fairway.ledgers ADD CONSTRAINT fault CHECK (sequence < 103)");
        else
            proxy_arm(proxy, faults[i], "fairway.finish_ledger");
        struct capture capture = capture_begin();
        const enum err e = commit(&lead, feed, sequence);
        const unsigned at_once = capture_end(&capture, QUARANTINED);
        take(&lead);
        if (faults[i] == PROXY_NONE)
            test_db_exec(&test, "ALTER TABLE fairway.ledgers DROP CONSTRAINT fault");
        capture = capture_begin();
        const enum err again = lead.cursor.sequence == sequence ? ERR_OK : commit(&lead, feed, sequence);
        const unsigned after = capture_end(&capture, QUARANTINED);
        const bool committed = faults[i] == PROXY_CUT_AFTER;
        assert_int_equal(e, faults[i] == PROXY_NONE ? ERR_CONSTRAINT : ERR_OUTCOME_UNKNOWN);
        assert_int_equal(again, ERR_OK);
        assert_int_equal(at_once, 0);
        assert_int_equal(after, !committed);
    }
    assert_int_equal(test_db_number(&test, "SELECT count(*) FROM fairway.channel_accounts"
                                           " WHERE state = 'quarantined' AND lease_hash IS NOT NULL"),
        ARRAY_LEN(faults));
    lead_free(&lead);
    proxy_free(proxy);
    ledger_feed_free(feed);
    test_db_drop(&test);
}

static bool recorded(const struct test_pool *pool, const struct hash *hash)
{
    char hex[HASH_HEX_SIZE], sql[200];
    hash_encode(hash, hex);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM fairway.lease_history WHERE hash = '\\x%s'", hex);
    return test_db_number(&pool->test, sql) == 1;
}

TEST(DR2_a_grant_whose_COMMIT_was_cut_succeeds_if_and_only_if_its_lease_is_stored)
{
    struct test_pool pool;
    test_pool_open(&pool, ACCOUNTS);
    struct proxy *proxy = proxy_new(test_pg_port());
    AUTO_FREE char *url = test_db_url_through(&pool.test, proxy_port(proxy));
    struct db *mine = pool.db, *through = db_new(&(struct db_settings){.url = url, .name = "cut"});
    unsigned answered = 0, count = cuts();
    for (unsigned i = 1; i <= count; i++) {
        struct asked asked CLEANUP(asked_wipe);
        struct detail detail = {0};
        enum proxy_fault fault = i % 4 == 0 ? PROXY_CUT_BEFORE : PROXY_CUT_AFTER;
        ask(&pool, &asked);
        pool.db = through;
        assert_int_equal(db_connect(through, &detail), ERR_OK);
        proxy_arm(proxy, fault, "fairway.record_leases");
        enum err e = test_pool_grant(&pool, &asked, 1, &detail);
        pool.db = mine;
        assert_int_equal(e, fault == PROXY_CUT_AFTER ? ERR_OK : ERR_SERIALIZATION);
        assert_int_equal(lease_rows(&pool), answered + (e == ERR_OK));
        assert_int_equal(leased_accounts(&pool), e == ERR_OK);
        if (e == ERR_OK) {
            const struct lease *const leases[] = {&asked.grant.lease};
            assert_int_equal(asked.grant.state, GRANT_DONE);
            assert_true(recorded(&pool, &asked.grant.lease.hash));
            assert_int_equal(test_pool_include(pool.db, leases, 1).released, 1);
            answered++;
        } else
            assert_int_equal(asked.grant.state, GRANT_OPEN);
    }
    assert_int_equal(answered, count - count / 4);
    printf("%u cuts at the COMMIT of a grant, 0 mismatches\n", count);
    db_free(through);
    proxy_free(proxy);
    test_pool_close(&pool);
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
