/* Rules of submitter.c about claims. The database is this file. */
#include "submit/submitter.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/deadlines.h"
#include "pool/submissions.h"

static atomic_uint claims;
static size_t due; /* with each claim */

/* So many are due that there are always more, and those that no RPC has taken are due at once. */
enum err submissions_claim(struct db *db, int64_t since, int64_t until, struct submission_due out[],
    size_t *count, struct db_rows **rows, struct detail *detail)
{
    (void)db, (void)since, (void)until, (void)rows, (void)detail;
    atomic_fetch_add(&claims, 1);
    for (size_t i = 0; i < due; i++)
        out[i] = (struct submission_due){
            .client = "a client", .round_ledger = 100, .tip = 100, .outer = {(const uint8_t *)"foobar", 6}};
    *count = due;
    return ERR_OK;
}

enum err submissions_answer(
    struct db *db, const struct submission_answer answers[], size_t count, struct detail *detail)
{
    (void)db, (void)detail;
    for (size_t i = 0; i < count; i++)
        assert_true(answers[i].result.len == 0 && answers[i].asked_stroops == 0);
    return ERR_OK;
}

/* Otherwise it claims the same ones again and again, for as long as its RPCs fail, and leaves no other
 * replica any. */
TEST(a_claim_ends_when_every_address_fails)
{
    static const struct policy_limits limits;
    due = SUBMISSIONS_CLAIM;
    atomic_store(&claims, 0);
    struct submitter *submitter = submitter_start(&(struct submitter_settings){
        .database_url = "postgresql:///x", .rpc_url = "http://127.0.0.1:1/", .limits = &limits});
    clock_sleep_ms(3500);
    submitter_stop(submitter);
    submitter_free(submitter);
    assert_in_range(atomic_load(&claims), 2, 20);
}

/* Otherwise nothing is sent again for as long as clients submit much, and the RPC takes its time. */
TEST(what_clients_submit_does_not_delay_claims)
{
    static const struct policy_limits limits;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    const int silent = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(silent, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(silent, 512), 0);
    assert_int_equal(getsockname(silent, (struct sockaddr *)&address, &len), 0);
    AUTO_FREE char *url = mem_format("http://127.0.0.1:%d/", ntohs(address.sin_port));
    const struct hash lease = {{1}};
    const struct bump bump = {.item.sent_ledger = 100};
    due = 0;
    struct submitter *submitter = submitter_start(
        &(struct submitter_settings){.database_url = "postgresql:///x", .rpc_url = url, .limits = &limits});
    const int64_t begun_ms = clock_ms();
    for (int i = 0; i < 90; i++)
        submitter_send(submitter, &lease, &bump, true);
    clock_sleep_ms(50);
    atomic_store(&claims, 0);
    submitter_ledger(submitter);
    while (atomic_load(&claims) == 0 && clock_ms() - begun_ms < 2 * SUBMIT_CALL_MS)
        clock_sleep_ms(5);
    assert_in_range(clock_ms() - begun_ms, 0, SUBMIT_CALL_MS - 500);
    submitter_stop(submitter);
    submitter_free(submitter);
    close(silent);
}
