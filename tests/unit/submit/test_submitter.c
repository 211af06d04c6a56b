/* Rules of submitter.c about claims. The database is this file. */
#include "submit/submitter.h"

#include <stdatomic.h>

#include "check.h"
#include "base/clock.h"
#include "pool/submissions.h"

static atomic_uint claims;

/* So many are due that there are always more, and those that no RPC has taken are due at once. */
enum err submissions_claim(struct db *db, int64_t again, int64_t since, int64_t until,
    struct submission_due out[], size_t *count, struct db_rows **rows, struct detail *detail)
{
    (void)db, (void)again, (void)since, (void)until, (void)rows, (void)detail;
    atomic_fetch_add(&claims, 1);
    for (size_t i = 0; i < SUBMISSIONS_CLAIM; i++)
        out[i] = (struct submission_due){.client = "a client",
            .bid_stroops = 200,
            .round_ledger = 100,
            .tip = 100,
            .outer = {(const uint8_t *)"foobar", 6}};
    *count = SUBMISSIONS_CLAIM;
    return ERR_OK;
}

enum err submissions_answer(struct db *db, const struct submission_answer answers[], size_t count,
    int64_t ledgers, struct detail *detail)
{
    (void)db, (void)ledgers, (void)detail;
    for (size_t i = 0; i < count; i++)
        assert_true(answers[i].unsent);
    return ERR_OK;
}

/* Otherwise it claims the same ones again and again, for as long as its RPCs fail, and leaves no other
 * replica any. */
TEST(a_claim_ends_when_every_address_fails)
{
    static const struct policy_limits limits;
    struct submitter *submitter = submitter_start(&(struct submitter_settings){
        .database_url = "postgresql:///x", .rpc_url = "http://127.0.0.1:1/", .limits = &limits});
    clock_sleep_ms(3500);
    submitter_stop(submitter);
    submitter_free(submitter);
    assert_in_range(atomic_load(&claims), 2, 20);
}
