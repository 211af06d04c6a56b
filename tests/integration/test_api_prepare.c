/* A contract call that only authorization entries authorize: what the RPC's simulation may set in it, and
 * what is refused before an account is leased. The RPC is a fake one, which lies. */
#include "support/fixture.h"
#include "base/text.h"
#include "stellar/envelope_build.h"
#include "unit/rpc/fake_rpc.h"

#define EXPIRES 1100 /* the last ledger is 1000 */

/* One entry by address, of sample_key(n) as an account or a contract. */
static void add_entry(struct buf *auth, enum sample_address kind, uint8_t n, uint32_t expires, bool is_signed)
{
    add_credentials(auth, 2, kind, n);
    be32_put(auth->data + auth->len - 8, expires);
    be32_put(auth->data + auth->len - 4, is_signed ? 20 : 1); /* a value without content; void */
    add_invocation(auth);
}

static void add_function(struct buf *out)
{
    buf_add_u32(out, 0);
    add_contract_call(out);
}

static uint32_t resources[] = {1000, 1000, 1000}; /* instructions, bytes read and written */

static uint8_t consumed = 9; /* whose nonce is consumed by what writes: that of post_signed_call */

/* SorobanTransactionData with so many entries, and these resources. */
static void add_data(struct buf *out, uint32_t read_only, uint32_t read_write)
{
    buf_add_u32(out, 0);
    add_entries(out, read_only);
    const size_t written = out->len;
    add_entries(out, read_write);
    if (read_write > 0) {
        be32_put(out->data + written, read_write + 1);
        buf_add_u32(out, 6);
        add_address(out, CONTRACT, consumed);
        buf_add_u32(out, 21);
        buf_add_u64(out, 1);
        buf_add_u32(out, 0);
    }
    for (int i = 0; i < 3; i++)
        buf_add_u32(out, resources[i]);
    buf_add_u64(out, 77); /* not used: minResourceFee counts */
}

static void simulation_says(const char *body)
{
    address_forget(); /* it may have refused before */
    fake_set_reply(service.rpc, 0, (struct fake_reply){.method = "simulateTransaction", .body = body});
}

static void simulation_finds(uint32_t read_write, const char *fee, const char *more)
{
    static char *body; /* the fake RPC keeps the pointer */
    CLEANUP(buf_free) struct buf data = {0};
    add_data(&data, 1, read_write);
    AUTO_FREE char *text = base64_encode(buf_bytes(&data));
    free(body);
    body = mem_format(FAKE_RESULT("{\"transactionData\":\"%s\",\"minResourceFee\":\"%s\",\"results\":"
                                  "[{\"auth\":[],\"xdr\":\"AAAAAQ==\"}],\"latestLedger\":1000%s}"),
        text, fee, more);
    simulation_says(body);
}

static const char *endpoint = "/v1/transactions";

static void post_json(struct response *response, json_t *object, const char *key)
{
    AUTO_FREE char *head = mem_format("Content-Type: application/json\r\n%s%s%s",
        key == NULL ? "" : "Idempotency-Key: ", key == NULL ? "" : key, key == NULL ? "" : "\r\n");
    AUTO_FREE char *body = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    service_request(
        &service, response, "POST", endpoint, head, (struct bytes){(const uint8_t *)body, strlen(body)});
}

/* auth: one entry, or NULL: none. */
static void post_call(struct response *response, const struct buf *auth, const char *key)
{
    CLEANUP(buf_free) struct buf function = {0};
    add_function(&function);
    AUTO_FREE char *func = base64_encode(buf_bytes(&function));
    AUTO_FREE char *entry = auth == NULL ? NULL : base64_encode(buf_bytes(auth));
    json_t *list = json_array();
    if (entry != NULL)
        json_array_append_new(list, json_string(entry));
    post_json(response, json_pack("{s:s, s:o}", "func", func, "auth", list), key);
}

static void post_signed_call(struct response *response, const char *key)
{
    CLEANUP(buf_free) struct buf auth = {0};
    add_entry(&auth, CONTRACT, 9, EXPIRES, true);
    post_call(response, &auth, key);
}

static void leased_envelope(const struct response *response, struct buf *xdr, struct envelope *envelope)
{
    struct detail detail = {0};
    assert_int_equal(response->status, 201);
    response_xdr(response, "transactionXdr", xdr);
    assert_int_equal(envelope_decode(buf_bytes(xdr), envelope, &detail), ERR_OK);
}

TEST(a_call_gets_the_resources_of_its_simulation_with_a_margin_and_stays_as_it_was_signed)
{
    AUTO_RESPONSE response = {0};
    CLEANUP(buf_free) struct buf xdr = {0}, auth = {0}, operations = {0}, data = {0};
    struct envelope envelope;
    simulation_finds(2, "2001", "");
    post_signed_call(&response, NULL);
    leased_envelope(&response, &xdr, &envelope);
    assert_true(fake_heard(service.rpc, "\"authMode\":\"enforce\""));
    add_entry(&auth, CONTRACT, 9, EXPIRES, true);
    buf_add_u32(&operations, 1);
    buf_add_u32(&operations, 0); /* no source */
    buf_add_u32(&operations, 24);
    add_function(&operations);
    buf_add_u32(&operations, 1);
    buf_add_bytes(&operations, buf_bytes(&auth));
    assert_true(bytes_equal(envelope.operations, buf_bytes(&operations)));
    add_data(&data, 1, 2);
    const uint8_t *theirs = envelope.operations.data + envelope.operations.len + 4;
    assert_memory_equal(theirs, data.data, data.len - 20);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(be32_get(theirs + data.len - 20 + 4 * i), 1150);
    assert_int_equal(envelope.resource_fee_stroops, 2302); /* 2301.15, rounded up */
    assert_int_equal(envelope.fee_stroops, SERVICE_BASE_FEE + 2302);
    assert_int_equal(envelope.preconditions.max_ledger, EXPIRES + 1);
    assert_int_equal(service_number(&service, "SELECT lease_max_ledger FROM fairway.channel_accounts"
                                              " WHERE lease_hash IS NOT NULL"),
        EXPIRES + 1);
}

TEST(the_margin_of_a_resource_ends_at_the_networks_limit)
{
    static const uint32_t cases[][2] = {{360000000, 400000000}, {400000001, 400000001}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_RESPONSE response = {0};
        CLEANUP(buf_free) struct buf auth = {0}, xdr = {0};
        struct envelope envelope;
        resources[0] = cases[i][0];
        resources[1] = 190000;
        simulation_finds(1, "2001", "");
        resources[0] = resources[1] = 1000;
        add_entry(&auth, CONTRACT, (uint8_t)(20 + i), EXPIRES, true);
        post_call(&response, &auth, NULL);
        leased_envelope(&response, &xdr, &envelope);
        const uint8_t *found = envelope.tail.data + envelope.tail.len - 20;
        assert_int_equal(be32_get(found), cases[i][1]);
        assert_int_equal(be32_get(found + 4), 200000);
        assert_int_equal(be32_get(found + 8), 1150);
    }
}

/* 360 million instructions with the margin. */
static uint32_t margin_ends_at(uint8_t n)
{
    AUTO_RESPONSE response = {0};
    CLEANUP(buf_free) struct buf auth = {0}, xdr = {0};
    struct envelope envelope;
    resources[0] = 360000000;
    simulation_finds(1, "2001", "");
    resources[0] = 1000;
    add_entry(&auth, CONTRACT, n, EXPIRES, true);
    post_call(&response, &auth, NULL);
    leased_envelope(&response, &xdr, &envelope);
    return be32_get(envelope.tail.data + envelope.tail.len - 20);
}

TEST(the_networks_limits_are_read_again_after_some_ledgers)
{
    atomic_store(&service.seen_ledger, 1000);
    assert_int_equal(margin_ends_at(30), 400000000);
    fake_set_reply(service.rpc, 1,
        (struct fake_reply){.method = "getLedgerEntries", .body = FAKE_LIMITS(FAKE_500_MILLION)});
    atomic_store(&service.seen_ledger, 1012);
    assert_int_equal(margin_ends_at(31), 400000000);
    atomic_store(&service.seen_ledger, 1013);
    assert_int_equal(margin_ends_at(32), 414000000);
    fake_set_reply(service.rpc, 1, (struct fake_reply){.method = "getLedgerEntries", .status = 429});
    atomic_store(&service.seen_ledger, 1026);
    assert_int_equal(margin_ends_at(33), 414000000); /* the last ones that it has told */
    atomic_store(&service.seen_ledger, 0);
}

/* A copy of an entry may name any later ledger; the network keeps no nonce for so long. */
TEST(a_claim_ends_whatever_a_copy_of_its_entry_says)
{
    AUTO_RESPONSE response = {0};
    CLEANUP(buf_free) struct buf auth = {0};
    CLEANUP(sample_wipe) struct sample sample = SAMPLE;
    simulation_finds(1, "1000", "");
    add_entry(&auth, CONTRACT, 9, EXPIRES, true);
    add_entry(&auth, CONTRACT, 9, UINT32_MAX, true);
    add_invoke(&sample, NO_SOURCE, 0, 2, &auth);
    sample.soroban = false;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    post_json(&response, service_body(buf_bytes(&sample.xdr)), NULL);
    assert_int_equal(response.status, 201);
    assert_int_equal(
        service_number(&service, "SELECT expires_ledger FROM fairway.lease_claims"), 1000 + 3110400);
}

TEST(a_lying_rpc_sets_no_higher_fee_than_the_maximum)
{
    AUTO_RESPONSE above = {0}, huge = {0}, most = {0};
    CLEANUP(buf_free) struct buf xdr = {0};
    struct envelope envelope;
    simulation_finds(1, "4347827", ""); /* with 15 % above SERVICE_MAX_RESOURCE_FEE */
    post_signed_call(&above, NULL);
    assert_refused(&above, 400, "FEE_EXCEEDS_MAXIMUM");
    simulation_finds(1, "9223372036854775807", "");
    post_signed_call(&huge, NULL);
    assert_refused(&huge, 400, "FEE_EXCEEDS_MAXIMUM");
    assert_int_equal(service_leases(&service), 0);
    simulation_finds(1, "4347826", "");
    post_signed_call(&most, NULL);
    leased_envelope(&most, &xdr, &envelope);
    assert_int_equal(envelope.resource_fee_stroops, SERVICE_MAX_RESOURCE_FEE);
}

TEST(without_resources_from_the_rpc_nothing_is_leased)
{
    static const char *const bodies[] = {
        FAKE_RESULT("{\"minResourceFee\":\"1\",\"latestLedger\":1000}"),
        FAKE_RESULT("{\"minResourceFee\":\"1\",\"transactionData\":\"AAAA\",\"latestLedger\":1000}"),
        FAKE_ERROR(-32602, "invalid params"),
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        AUTO_RESPONSE response = {0};
        simulation_says(bodies[i]);
        post_signed_call(&response, NULL);
        assert_refused(&response, 503, "RPC_UNAVAILABLE");
    }
    AUTO_RESPONSE archived = {0};
    simulation_finds(1, "1000", ",\"restorePreamble\":{\"transactionData\":\"\",\"minResourceFee\":\"1\"}");
    post_signed_call(&archived, NULL);
    assert_refused(&archived, 400, "SIMULATION_FAILED");
    assert_non_null(strstr(response_text(&archived, "detail"), "archived"));
    assert_int_equal(service_leases(&service), 0);
}

#define EVENT "AAAAAQAAAAAAAAAA" /* a DiagnosticEvent up to its type */

TEST(only_a_call_that_writes_or_emits_an_event_is_leased_also_one_without_entries)
{
    AUTO_RESPONSE without = {0}, with = {0}, diagnosed = {0}, emits = {0}, writes = {0}, again = {0};
    simulation_finds(0, "1000", "");
    post_call(&without, NULL, NULL);
    assert_refused(&without, 400, "NOTHING_TO_SUBMIT");
    assert_string_equal(response_text(&without, "returnValue"), "AAAAAQ==");
    post_signed_call(&with, NULL);
    assert_refused(&with, 400, "NOTHING_TO_SUBMIT");
    simulation_finds(
        0, "1000", ",\"events\":[\"" EVENT "AAAAAgAAAAAAAAAAAAAAAQ==\"]"); /* of the host's diagnosis */
    post_call(&diagnosed, NULL, NULL);
    assert_refused(&diagnosed, 400, "NOTHING_TO_SUBMIT");
    assert_int_equal(service_leases(&service), 0);
    simulation_finds(
        0, "1000", ",\"events\":[7,\"" EVENT "AAAAAQAAAAAAAAAAAAAAAQ==\"]"); /* of the contract */
    post_call(&emits, NULL, NULL);
    assert_int_equal(emits.status, 201);
    simulation_finds(1, "1000", ""); /* it needs nobody's authority */
    post_call(&writes, NULL, NULL);
    post_call(&again, NULL, NULL);
    assert_int_equal(writes.status, 201);
    assert_int_equal(again.status, 201); /* without a nonce and a key each request is a new call */
}

/* What the host says when entries do not authorize a call. */
#define UNAUTHORIZED                                                                                         \
    "{\"error\":\"HostError: Error(Auth, InvalidAction)\\n\\nEvent log\",\"latestLedger\":1000}"

static void assert_entry_refused(struct buf *auth, const char *code, const char *address)
{
    AUTO_RESPONSE response = {0};
    if (strcmp(code, "FORBIDDEN_SIGNER") == 0) /* ours, whatever the host says */
        simulation_finds(1, "1000", "");
    else
        simulation_says(FAKE_RESULT(UNAUTHORIZED));
    post_call(&response, auth, NULL);
    buf_free(auth);
    assert_refused(&response, 400, code);
    if (address != NULL)
        assert_string_equal(
            json_string_value(json_array_get(json_object_get(response.json, "addresses"), 0)), address);
    assert_int_equal(service_leases(&service), 0);
}

TEST(entries_that_do_not_authorize_their_call_are_refused)
{
    struct buf auth = {0};
    char address[ADDRESS_SIZE];
    const struct public_key account = sample_key(9);
    address_encode(&account, address);
    add_entry(&auth, ACCOUNT, 9, EXPIRES, false);
    assert_entry_refused(&auth, "SIGNATURE_MISSING", address);
    add_entry(&auth, CONTRACT, 9, EXPIRES, false);
    assert_entry_refused(
        &auth, "SIGNATURE_MISSING", "CAEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQSCIJBEEQTD2L");
    add_credentials(&auth, 3, CONTRACT, 8); /* has left it to its delegate, who has not signed */
    be32_put(auth.data + auth.len - 8, EXPIRES);
    buf_add_u32(&auth, 1);
    add_delegate(&auth, ACCOUNT, 9, 0);
    add_invocation(&auth);
    assert_entry_refused(&auth, "SIGNATURE_MISSING", address);
    add_entry(&auth, ACCOUNT, 9, 1001, true);
    assert_entry_refused(&auth, "AUTHORIZATION_EXPIRES", NULL);
    add_source_account_entry(&auth);
    assert_entry_refused(&auth, "SOURCE_CREDENTIALS_NOT_ALLOWED", NULL);
    add_entry(&auth, ACCOUNT, 9, EXPIRES, true);
    memcpy(auth.data + 12, service.accounts[0].bytes, sizeof service.accounts[0].bytes);
    assert_entry_refused(&auth, "FORBIDDEN_SIGNER", NULL);
    add_credentials(&auth, 3, CONTRACT, 8);
    be32_put(auth.data + auth.len - 8, 1001);
    buf_add_u32(&auth, 1);
    add_delegate(&auth, ACCOUNT, 9, 0);
    be32_put(auth.data + auth.len - 8, 20); /* who has signed */
    add_invocation(&auth);
    assert_entry_refused(&auth, "AUTHORIZATION_EXPIRES", NULL);
    add_entry(&auth, ACCOUNT, 9, EXPIRES, true);
    assert_entry_refused(&auth, "SIMULATION_FAILED", NULL);
}

/* Only what the network consumes counts: its nonce, and when it expires. An account may take a void
 * signature. */
TEST(of_entries_that_nothing_asks_for_nothing_is_asked)
{
    static const struct {
        uint8_t n;
        uint32_t expires;
        bool is_signed;
        int status;
        uint32_t max_ledger;
    } cases[] = {{9, 1002, true, 201, 1003}, /* the least that leaves two ledgers */
        {11, 1001, true, 400, 0}, {12, EXPIRES, false, 201, EXPIRES + 1}, {0, 1001, false, 201, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_RESPONSE response = {0};
        CLEANUP(buf_free) struct buf auth = {0}, xdr = {0};
        struct envelope envelope;
        consumed = cases[i].n;
        simulation_finds(1, "1000", "");
        consumed = 9;
        add_entry(&auth, CONTRACT, cases[i].n == 0 ? 13 : cases[i].n, cases[i].expires, cases[i].is_signed);
        post_call(&response, &auth, NULL);
        if (cases[i].status == 400) {
            assert_refused(&response, 400, "AUTHORIZATION_EXPIRES");
            continue;
        }
        leased_envelope(&response, &xdr, &envelope);
        assert_int_equal(envelope.preconditions.max_ledger, cases[i].max_ledger);
    }
}

/* With the resource data that its client has signed for. */
TEST(a_transaction_with_a_source_claims_what_a_call_claims)
{
    AUTO_RESPONSE call = {0}, transaction = {0}, another = {0};
    for (int i = 0; i < 3; i++) {
        CLEANUP(buf_free) struct buf auth = {0}, xdr = {0}, data = {0};
        CLEANUP(sample_wipe) struct sample sample = SAMPLE;
        struct envelope envelope;
        simulation_finds(1, "1000", "");
        if (i == 0) {
            post_signed_call(&call, NULL);
            continue;
        }
        add_entry(&auth, CONTRACT, 9, EXPIRES + (uint32_t)i, true);
        add_invoke(&sample, PLAIN, 3, 1, &auth);
        sample.resource_fee_stroops = 1000;
        assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
        consumed = i == 1 ? 9 : 10; /* what its footprint does not have is carried along */
        add_data(&data, 1, 1);
        consumed = 9;
        be64_put(data.data + data.len - 8, 1000);
        envelope_build_with_resources(&sample.view, buf_bytes(&data), &xdr);
        assert_int_equal(envelope_decode(buf_bytes(&xdr), &envelope, NULL), ERR_OK);
        post_json(i == 1 ? &transaction : &another, service_body(buf_bytes(&xdr)), NULL);
    }
    assert_refused(&transaction, 409, "AUTHORIZATION_LEASED");
    assert_string_equal(response_text(&transaction, "hash"), response_text(&call, "hash"));
    assert_int_equal(another.status, 201);
}

TEST(a_body_is_a_transaction_or_a_call)
{
    static const struct {
        const char *body, *code;
    } cases[] = {
        {"{\"func\":\"AAAA\"}", "INVALID_REQUEST"},
        {"{\"auth\":[]}", "INVALID_REQUEST"},
        {"{\"func\":\"AAAA\",\"auth\":[]}", "INVALID_TRANSACTION_XDR"},
        {"{\"func\":7,\"auth\":[]}", "INVALID_REQUEST"},
        {"{\"func\":\"AAAAAgAAAAA=\",\"auth\":[7]}", "INVALID_REQUEST"},
        {"{\"func\":\"AAAAAgAAAAA=\",\"auth\":[\"AAAA\"]}", "INVALID_TRANSACTION_XDR"},
        {"{\"func\":\"AAAAAgAAAAA=\",\"auth\":[],\"transactionXdr\":\"AAAA\"}", "INVALID_REQUEST"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_RESPONSE response = {0};
        post_json(&response, json_loads(cases[i].body, 0, NULL), NULL);
        assert_refused(&response, 400, cases[i].code);
    }
}

TEST(DL9_a_retry_of_a_call_gets_its_lease_although_the_simulation_says_something_else)
{
    AUTO_RESPONSE first = {0}, down = {0}, failing = {0}, same = {0}, another = {0};
    CLEANUP(buf_free) struct buf auth = {0};
    simulation_finds(1, "1000", "");
    post_signed_call(&first, "order 7");
    assert_int_equal(first.status, 201);
    fake_set_reply(
        service.rpc, 0, (struct fake_reply){.method = "simulateTransaction", .status = 503, .body = ""});
    post_signed_call(&down, "order 7");
    assert_string_equal(response_text(&down, "hash"), response_text(&first, "hash"));
    simulation_says(FAKE_RESULT("{\"error\":\"nonce already exists\",\"latestLedger\":9}"));
    post_signed_call(&failing, "order 7");
    assert_string_equal(response_text(&failing, "hash"), response_text(&first, "hash"));
    post_signed_call(&same, "order 8"); /* the same authorization */
    assert_refused(&same, 409, "AUTHORIZATION_LEASED");
    assert_string_equal(response_text(&same, "hash"), response_text(&first, "hash"));
    add_entry(&auth, CONTRACT, 10, EXPIRES, true);
    post_call(&another, &auth, "order 8");
    assert_refused(&another, 400, "SIMULATION_FAILED");
    assert_string_equal(response_text(&another, "simulationError"), "nonce already exists");
    assert_int_equal(service_leases(&service), 1);
}

TEST(an_authorization_that_the_network_has_consumed_is_refused_as_used)
{
    AUTO_RESPONSE used = {0}, first = {0}, in_another_call = {0};
    CLEANUP(buf_free) struct buf auth = {0};
    static const char error[] =
        FAKE_RESULT("{\"error\":\"HostError: Error(Auth, ExistingValue)\\n\\nEvent log\","
                    "\"latestLedger\":1000}");
    simulation_says(error);
    post_signed_call(&used, NULL);
    assert_refused(&used, 409, "AUTHORIZATION_USED");
    assert_non_null(strstr(response_text(&used, "simulationError"), "Event log"));
    assert_int_equal(service_leases(&service), 0);
    simulation_finds(1, "1000", "");
    post_signed_call(&first, NULL);
    assert_int_equal(first.status, 201);
    simulation_says(error);
    add_entry(&auth, CONTRACT, 9, EXPIRES, true);
    auth.data[auth.len - 12]++; /* the same nonce, and another invocation */
    post_call(&in_another_call, &auth, NULL);
    assert_refused(&in_another_call, 409, "AUTHORIZATION_LEASED");
    assert_string_equal(response_text(&in_another_call, "hash"), response_text(&first, "hash"));
}

/* Claims may be kept for longer than history. */
TEST(a_call_whose_lease_is_no_longer_kept_is_leased_and_not_unknown)
{
    AUTO_RESPONSE first = {0}, again = {0};
    simulation_finds(1, "1000", "");
    post_signed_call(&first, NULL);
    assert_int_equal(first.status, 201);
    test_db_exec(&service.db, "SET session_replication_role = replica; TRUNCATE fairway.leases");
    endpoint = "/v1/submissions";
    post_signed_call(&again, NULL);
    endpoint = "/v1/transactions";
    assert_refused(&again, 409, "AUTHORIZATION_LEASED");
    assert_string_equal(response_text(&again, "hash"), response_text(&first, "hash"));
}

TEST(a_contract_that_asks_twice_in_one_frame_has_consumed_no_nonce)
{
    AUTO_RESPONSE response = {0};
    simulation_says(FAKE_RESULT(
        "{\"error\":\"HostError: Error(Auth, ExistingValue)\\n\\nEvent log (newest first):\\n   0: "
        "[Diagnostic Event] data:[\\\"frame is already authorized\\\", GA]\",\"latestLedger\":1000}"));
    post_signed_call(&response, NULL);
    assert_refused(&response, 400, "SIMULATION_FAILED");
}

/* Who is paid may choose a text among the arguments, use up the authorization, and be paid again. */
TEST(no_text_of_a_call_hides_that_its_nonce_is_consumed)
{
    AUTO_RESPONSE response = {0};
    char text[3500];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    AUTO_FREE char *says = mem_format(
        FAKE_RESULT(
            "{\"error\":\"HostError: Error(Auth, ExistingValue)\\n\\nEvent log (newest first):\\n   0: "
            "[Diagnostic Event] data:[\\\"contract call failed\\\", [\\\"frame is already "
            "authorized%s\\\"]]\\n"
            "   1: [Diagnostic Event] data:[\\\"nonce already exists for address\\\", "
            "GA]\",\"latestLedger\":1000}"),
        text);
    simulation_says(says);
    post_signed_call(&response, NULL);
    assert_refused(&response, 409, "AUTHORIZATION_USED");
}

TEST(a_nonce_that_is_consumed_is_found_below_the_failure_of_a_contract_that_caught_it)
{
    AUTO_RESPONSE response = {0};
    simulation_says(
        FAKE_RESULT("{\"error\":\"HostError: Error(WasmVm, InvalidAction)\\n\\nEvent log (newest first):\\n"
                    "   0: [Diagnostic Event] topics:[error, Error(WasmVm, InvalidAction)]\\n"
                    "   1: [Diagnostic Event] topics:[error, Error(Auth, ExistingValue)], "
                    "data:[\\\"nonce already exists for address\\\", GA]\",\"latestLedger\":1000}"));
    post_signed_call(&response, NULL);
    assert_refused(&response, 409, "AUTHORIZATION_USED");
}

TEST(the_earlier_max_ledger_of_client_and_entries_counts)
{
    static const struct {
        uint32_t client, expires, expected;
    } cases[] = {
        {1050, EXPIRES, 1050}, {1200, EXPIRES, EXPIRES + 1}, {1050, UINT32_MAX, 1050}, {0, UINT32_MAX, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_RESPONSE response = {0};
        CLEANUP(buf_free) struct buf auth = {0}, xdr = {0};
        CLEANUP(sample_wipe) struct sample sample = SAMPLE;
        struct envelope envelope;
        consumed = (uint8_t)(9 + i);
        simulation_finds(1, "1000", "");
        consumed = 9;
        add_entry(&auth, CONTRACT, (uint8_t)(9 + i), cases[i].expires, true);
        add_invoke(&sample, NO_SOURCE, 0, 1, &auth);
        set_v2(&sample, (struct sample_v2){.ledgers = true, .max_ledger = cases[i].client});
        sample.soroban = i % 2 == 0; /* with resource data of its own, and without */
        sample.resource_fee_stroops = SERVICE_MAX_RESOURCE_FEE + 1;
        assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
        post_json(&response, service_body(buf_bytes(&sample.xdr)), NULL);
        leased_envelope(&response, &xdr, &envelope);
        assert_int_equal(envelope.preconditions.max_ledger, cases[i].expected);
        assert_int_equal(envelope.resource_fee_stroops, 1150);
    }
}

/* Nobody else has to sign, unless there is an extra signer, whose account the RPC need not be asked about. */
TEST(a_call_gets_its_fee_bump_without_a_signature_of_the_user)
{
    for (uint32_t extra = 0; extra <= 1; extra++) {
        AUTO_RESPONSE leased = {0}, bumped = {0}, foreign = {0};
        CLEANUP(buf_free) struct buf auth = {0}, xdr = {0}, signer = {0};
        CLEANUP(sample_wipe) struct sample sample = SAMPLE;
        simulation_finds(1, "1000", "");
        buf_add_u32(&signer, 0);
        add_key(&signer, SIGNER + 1);
        add_entry(&auth, CONTRACT, (uint8_t)(9 + extra), EXPIRES, true);
        add_invoke(&sample, NO_SOURCE, 0, 1, &auth);
        set_v2(&sample, (struct sample_v2){.signer_count = extra, .signers = extra == 0 ? NULL : &signer});
        sample.soroban = false;
        assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
        post_json(&leased, service_body(buf_bytes(&sample.xdr)), NULL);
        assert_int_equal(leased.status, 201);
        response_xdr(&leased, "transactionXdr", &xdr);
        service_post(&service, &bumped, "/v1/fee-bumps", service_body(buf_bytes(&xdr)));
        if (extra == 0) {
            assert_int_equal(bumped.status, 200);
            continue;
        }
        assert_refused(&bumped, 400, "NO_SIGNATURES_PROVIDED");
        const struct hash hash = response_hash(&leased, "hash");
        fixture_sign(&xdr, &hash, SIGNER + 2);
        service_post(&service, &foreign, "/v1/fee-bumps", service_body(buf_bytes(&xdr)));
        assert_refused(&foreign, 400, "CLIENT_SIGNATURE_INVALID");
    }
}

/* What policy refuses is refused although the transaction is built again. */
TEST(conditions_on_the_sequence_number_are_refused)
{
    AUTO_RESPONSE response = {0};
    CLEANUP(buf_free) struct buf auth = {0};
    CLEANUP(sample_wipe) struct sample sample = SAMPLE;
    simulation_finds(1, "1000", "");
    add_entry(&auth, CONTRACT, 9, EXPIRES, true);
    add_invoke(&sample, NO_SOURCE, 0, 1, &auth);
    set_v2(&sample, (struct sample_v2){.min_sequence_age_s = 5});
    sample.soroban = false;
    assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
    post_json(&response, service_body(buf_bytes(&sample.xdr)), NULL);
    assert_refused(&response, 400, "INVALID_TRANSACTION");
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
