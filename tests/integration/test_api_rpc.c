/* What Stellar RPC is asked before a lease and a fee bump: the simulation of a Soroban transaction,
 * and the signers of accounts that have several. Nothing is leased or signed before its answer. */
#include "support/fixture.h"
#include "stellar/account.h"
#include "base/text.h"
#include "slowness.h"
#include "unit/rpc/fake_rpc.h"

#define SIMULATED "{\"minResourceFee\":\"1000\",\"latestLedger\":1000}"

static void post_soroban(struct response *response, int64_t resource_fee, const char *key)
{
    struct sample sample = SAMPLE;
    add_invoke(&sample, PLAIN, SIGNER, 0, NULL);
    sample.resource_fee_stroops = resource_fee;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    AUTO_FREE char *field = key == NULL ? mem_copy_text("") : mem_format("Idempotency-Key: %s\r\n", key);
    AUTO_FREE char *head = mem_format("Content-Type: application/json\r\n%s", field);
    json_t *object = service_body(buf_bytes(&sample.xdr));
    AUTO_FREE char *body = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    sample_wipe(&sample);
    service_request(&service, response, "POST", "/v1/transactions", head,
        (struct bytes){(const uint8_t *)body, strlen(body)});
}

static void simulation_says(const char *body)
{
    address_forget(); /* it may have refused before */
    fake_set_reply(service.rpc, 0, (struct fake_reply){.method = "simulateTransaction", .body = body});
}

TEST(a_resource_fee_of_twice_what_the_simulation_needs_is_leased_and_more_is_refused)
{
    AUTO_RESPONSE most = {0}, above = {0};
    simulation_says(FAKE_RESULT(SIMULATED));
    post_soroban(&above, 2001, NULL);
    assert_refused(&above, 400, "RESOURCES_OUTDATED");
    assert_non_null(strstr(response_text(&above, "detail"), "more than 2 times the 1000"));
    assert_int_equal(service_leases(&service), 0);
    post_soroban(&most, 2000, NULL);
    assert_int_equal(most.status, 201);
    assert_true(fake_heard(service.rpc, "\"authMode\":\"enforce\""));
}

TEST(a_transaction_that_fails_in_the_simulation_is_refused)
{
    AUTO_RESPONSE response = {0};
    simulation_says(
        FAKE_RESULT("{\"error\":\"HostError: Error(Auth, InvalidAction)\\nmore\",\"latestLedger\":9}"));
    post_soroban(&response, 1000, NULL);
    assert_refused(&response, 400, "SIMULATION_FAILED");
    assert_string_equal(
        response_text(&response, "simulationError"), "HostError: Error(Auth, InvalidAction)\nmore");
    assert_string_equal(response_text(&response, "detail"),
        "The transaction fails when it is simulated: HostError: Error(Auth, InvalidAction)");
    assert_int_equal(service_leases(&service), 0);
}

/* What it lacks may be in the ledgers that the node does not have yet. */
TEST(a_simulation_that_fails_on_an_old_ledger_tells_nothing)
{
    AUTO_RESPONSE behind = {0}, newest = {0};
    simulation_says(
        FAKE_RESULT("{\"error\":\"HostError: Error(Storage, MissingValue)\",\"latestLedger\":9}"));
    service.seen_ledger = 10;
    post_soroban(&behind, 1000, NULL);
    service.seen_ledger = 9;
    post_soroban(&newest, 1000, NULL);
    service.seen_ledger = 0;
    assert_refused(&behind, 503, "RPC_UNAVAILABLE");
    assert_refused(&newest, 400, "SIMULATION_FAILED");
    assert_int_equal(service_leases(&service), 0);
}

TEST(without_a_simulation_no_soroban_transaction_is_leased)
{
    static const struct fake_reply replies[] = {
        {.method = "simulateTransaction", .manner = FAKE_HANGS_UP},
        {.method = "simulateTransaction", .status = 503, .body = ""},
        {.method = "simulateTransaction", .body = FAKE_ERROR(-32602, "invalid params")},
        {.method = "simulateTransaction", .body = "{}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
        AUTO_RESPONSE response = {0};
        address_forget();
        fake_set_reply(service.rpc, 0, replies[i]);
        post_soroban(&response, 1000, NULL);
        assert_refused(&response, 503, "RPC_UNAVAILABLE");
        assert_int_equal(service_leases(&service), 0);
    }
    AUTO_RESPONSE payment = {0};
    fixture_post_payment(&payment); /* classic transactions need no simulation */
    assert_int_equal(payment.status, 201);
}

TEST(an_rpc_that_never_answers_is_waited_for_in_bounded_time)
{
    AUTO_RESPONSE response = {0};
    const int64_t begun_ms = clock_ms();
    fake_set_reply(service.rpc, 0, (struct fake_reply){.manner = FAKE_SILENT});
    post_soroban(&response, 1000, NULL);
    assert_refused(&response, 503, "RPC_UNAVAILABLE");
    assert_true(clock_ms() - begun_ms < slower(4000));
    assert_int_equal(service_leases(&service), 0);
}

/* Its lease was granted before: neither the RPC nor a new fee may take it away. */
TEST(DL9_a_retry_gets_its_lease_although_the_simulation_has_no_result)
{
    AUTO_RESPONSE first = {0}, down = {0}, dearer = {0}, another = {0};
    simulation_says(FAKE_RESULT(SIMULATED));
    post_soroban(&first, 1500, "order 7");
    assert_int_equal(first.status, 201);
    fake_set_reply(
        service.rpc, 0, (struct fake_reply){.method = "simulateTransaction", .status = 503, .body = ""});
    post_soroban(&down, 1500, "order 7");
    assert_int_equal(down.status, 200);
    assert_string_equal(response_text(&down, "transactionXdr"), response_text(&first, "transactionXdr"));
    simulation_says(FAKE_RESULT("{\"minResourceFee\":\"1\",\"latestLedger\":1000}"));
    post_soroban(&dearer, 1500, "order 7");
    assert_true(json_equal(dearer.json, down.json));
    post_soroban(&another, 1500, "order 8");
    assert_refused(&another, 400, "RESOURCES_OUTDATED");
    assert_int_equal(service_leases(&service), 1);
}

/* ---- fee bumps */

/* The entry of sample_key(SIGNER), with another key as its one signer. */
static char *account_with_signer(uint8_t signer)
{
    static const uint8_t zeros[36];
    const struct public_key account = sample_key(SIGNER);
    struct buf entry = {0}, key = {0};
    buf_add_u32(&entry, 0); /* ACCOUNT */
    account_id_add(&entry, &account);
    buf_add(&entry, zeros, sizeof zeros); /* balance to thresholds */
    buf_add_u32(&entry, 1);
    buf_add_u32(&entry, 0); /* an Ed25519 key */
    add_key(&entry, signer);
    buf_add_u32(&entry, 1); /* weight */
    buf_add_u32(&entry, 0); /* ext */
    account_ledger_key(&account, &key);
    AUTO_FREE char *key_text = base64_encode(buf_bytes(&key)), *text = base64_encode(buf_bytes(&entry));
    buf_free(&entry);
    buf_free(&key);
    return mem_format(
        FAKE_RESULT("{\"entries\":[{\"key\":\"%s\",\"xdr\":\"%s\"}],\"latestLedger\":1000}"), key_text, text);
}

/* Asks for a fee bump of a new lease that sample_key(n) has signed, for this hash or for another one. */
static void bump_signed_by(struct response *response, uint8_t n, bool other_hash)
{
    AUTO_RESPONSE leased = {0};
    struct buf xdr CLEANUP(buf_free) = {0};
    fixture_post_payment(&leased);
    struct hash hash = response_hash(&leased, "hash");
    response_xdr(&leased, "transactionXdr", &xdr);
    hash.bytes[0] ^= other_hash;
    fixture_sign(&xdr, &hash, n);
    service_post(&service, response, "/v1/fee-bumps", service_body(buf_bytes(&xdr)));
}

static int64_t bumps(void)
{
    return service_number(&service, "SELECT count(*) FROM fairway.fee_bumps");
}

TEST(a_signer_of_the_operations_source_gets_a_fee_bump)
{
    AUTO_RESPONSE response = {0};
    AUTO_FREE char *entries = account_with_signer(SIGNER + 1);
    fake_set_reply(service.rpc, 1, (struct fake_reply){.method = "getLedgerEntries", .body = entries});
    bump_signed_by(&response, SIGNER + 1, false);
    assert_int_equal(response.status, 200);
    assert_int_equal(bumps(), 1);
    service_set_rpc(&service);
}

TEST(a_signature_that_is_nobodys_gets_no_fee_bump)
{
    AUTO_RESPONSE stranger = {0}, signer = {0}, network = {0};
    AUTO_FREE char *entries = account_with_signer(SIGNER + 1);
    fake_set_reply(service.rpc, 1,
        (struct fake_reply){
            .method = "getLedgerEntries", .body = FAKE_RESULT("{\"entries\":[],\"latestLedger\":1000}")});
    bump_signed_by(&stranger, SIGNER + 2, false); /* the account does not exist */
    assert_refused(&stranger, 400, "CLIENT_SIGNATURE_INVALID");
    fake_set_reply(service.rpc, 1, (struct fake_reply){.method = "getLedgerEntries", .body = entries});
    bump_signed_by(&signer, SIGNER + 2, false);
    assert_refused(&signer, 400, "CLIENT_SIGNATURE_INVALID");
    bump_signed_by(&network, SIGNER, true);
    assert_refused(&network, 400, "CLIENT_SIGNATURE_INVALID");
    assert_non_null(strstr(response_text(&network, "detail"), "networkPassphrase"));
    assert_int_equal(bumps(), 0);
    service_set_rpc(&service);
}

TEST(signers_that_cannot_be_read_get_no_fee_bump)
{
    AUTO_RESPONSE signer = {0}, master = {0};
    fake_set_reply(
        service.rpc, 1, (struct fake_reply){.method = "getLedgerEntries", .status = 503, .body = ""});
    bump_signed_by(&signer, SIGNER + 1, false);
    assert_refused(&signer, 503, "RPC_UNAVAILABLE");
    assert_int_equal(bumps(), 0);
    bump_signed_by(&master, SIGNER, false); /* needs no RPC */
    assert_int_equal(master.status, 200);
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
