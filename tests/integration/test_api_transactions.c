/* POST /v1/transactions: what is signed, what is refused, and that a refused request leases nothing (DL5). */
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "support/fixture.h"
#include "stellar/envelope_build.h"
#include "unit/stellar/sample.h"

#define PATH "/v1/transactions"
#define OURS 240 /* sample_key(OURS) stands for a pool account until the sample is posted */

static struct sample a_payment(void)
{
    struct sample sample = SAMPLE;
    add_payment(&sample, PLAIN, 9);
    return sample;
}

static void put_our_key(struct buf *buf)
{
    const struct public_key stand_in = sample_key(OURS);
    for (size_t i = 0; i + sizeof stand_in.bytes <= buf->len; i += 4)
        if (memcmp(buf->data + i, stand_in.bytes, sizeof stand_in.bytes) == 0)
            memcpy(buf->data + i, service.accounts[0].bytes, sizeof stand_in.bytes);
}

/* Posts the sample, with the further members of more (given away). */
static void post_sample(struct response *response, struct sample *sample, json_t *more)
{
    struct detail detail = {0};
    put_our_key(&sample->operations);
    put_our_key(&sample->preconditions);
    if (sample_decode(sample, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    json_t *body = service_body(buf_bytes(&sample->xdr));
    if (more != NULL)
        json_object_update(body, more);
    json_decref(more);
    service_post(&service, response, PATH, body);
}

static void assert_nothing_leased(void)
{
    assert_int_equal(service_leases(&service), 0);
    assert_int_equal(service_leased_accounts(&service), 0);
}

/* Posts the sample, which must be refused without a lease, and wipes it. */
static void refused_with(struct sample *sample, json_t *more, const char *code, const char *detail)
{
    AUTO_RESPONSE response = {0};
    post_sample(&response, sample, more);
    assert_refused(&response, 400, code);
    if (strstr(response_text(&response, "detail"), detail) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", detail, response_text(&response, "detail"));
    assert_nothing_leased();
    sample_wipe(sample);
}

static void refused(struct sample *sample, json_t *more, const char *code)
{
    refused_with(sample, more, code, "");
}

/* The signed envelope of a reply, and the bytes that it points into. */
struct leased {
    struct buf xdr;
    struct envelope envelope;
};

static void leased_wipe(struct leased *leased)
{
    buf_free(&leased->xdr);
}
#define AUTO_LEASED CLEANUP(leased_wipe) struct leased

static struct leased leased_of(const struct response *response)
{
    struct leased leased = {0};
    if (response->status != 201)
        fail_msg("%d %s", response->status, response_text(response, "detail"));
    response_xdr(response, "transactionXdr", &leased.xdr);
    assert_int_equal(envelope_decode(buf_bytes(&leased.xdr), &leased.envelope, NULL), ERR_OK);
    return leased;
}

/* Posts the sample, which must be leased, and wipes it. */
static struct leased leased(struct sample *sample, json_t *more)
{
    AUTO_RESPONSE response = {0};
    post_sample(&response, sample, more);
    sample_wipe(sample);
    return leased_of(&response);
}

static int64_t number(const struct response *response, const char *member)
{
    int64_t value = 0;
    assert_int_equal(text_to_i64(response_text(response, member), &value), ERR_OK);
    return value;
}

TEST(the_reply_is_a_lease_with_our_valid_signature)
{
    static const char *const members[] = {"hash", "status", "first", "transactionXdr", "channelAccount",
        "sequence", "sequenceLedger", "maxTime", "maxTimeSetBy", "networkPassphrase", NULL};
    AUTO_RESPONSE response = {0};
    struct sample sample CLEANUP(sample_wipe) = a_payment();
    post_sample(&response, &sample, NULL);
    AUTO_LEASED signed_one = leased_of(&response);
    const struct envelope *envelope = &signed_one.envelope;
    const struct hash hash = envelope_hash(&service.network, envelope),
                      said = response_hash(&response, "hash");
    char address[ADDRESS_SIZE];
    address_encode(&envelope->source, address);
    assert_json_members(response.json, members);
    assert_string_equal(response_text(&response, "channelAccount"), address);
    assert_string_equal(response_text(&response, "networkPassphrase"), SERVICE_PASSPHRASE);
    assert_int_equal(json_integer_value(json_object_get(response.json, "sequenceLedger")), 1000);
    assert_int_equal(envelope->sequence, number(&response, "sequence"));
    assert_int_equal(envelope->sequence, (1000LL << 32) + 1);
    assert_int_equal(envelope->preconditions.max_time_s, number(&response, "maxTime"));
    assert_true(hash_equal(&hash, &said));
    assert_int_equal(envelope->signature_count, 1);
    assert_true(envelope_signed_by(envelope, &envelope->source, &hash));
}

TEST(the_lease_row_and_its_account_name_each_other_and_the_request)
{
    AUTO_RESPONSE response = {0};
    struct sample sample CLEANUP(sample_wipe) = a_payment();
    post_sample(&response, &sample, NULL);
    assert_int_equal(response.status, 201);
    assert_int_equal(
        service_number(&service,
            "SELECT count(*) FROM fairway.lease_history l JOIN fairway.channel_accounts a ON a.lease_hash = "
            "l.hash"
            " WHERE l.hash = decode('%s', 'hex') AND l.account = '%s' AND a.public_key = l.account"
            " AND l.request_id = '%s' AND l.client = '' AND l.settled_at IS NULL"
            " AND l.max_time = %s AND l.sequence = %s AND a.lease_max_time = l.max_time",
            response_text(&response, "hash"), response_text(&response, "channelAccount"),
            response_header(&response, "X-Request-Id"), response_text(&response, "maxTime"),
            response_text(&response, "sequence")),
        1);
}

TEST(V0_V1_and_the_inner_transaction_of_a_fee_bump_keep_their_operations)
{
    for (enum envelope_form form = ENVELOPE_V0; form <= ENVELOPE_FEE_BUMP; form++) {
        AUTO_RESPONSE response = {0};
        struct sample sample CLEANUP(sample_wipe) = a_payment();
        add_payment(&sample, MUXED, 10);
        sample.form = form;
        sample.memo = true;
        post_sample(&response, &sample, NULL);
        AUTO_LEASED signed_one = leased_of(&response);
        assert_int_equal(signed_one.envelope.form, ENVELOPE_V1);
        assert_int_equal(signed_one.envelope.fee_stroops, 2 * SERVICE_BASE_FEE);
        assert_true(bytes_equal(signed_one.envelope.tail, sample.view.tail));
    }
}

TEST(an_operation_of_a_pool_account_is_refused_plain_and_muxed)
{
    char address[ADDRESS_SIZE];
    address_encode(&service.accounts[0], address);
    AUTO_FREE char *which =
        mem_format("The transaction needs, or gives, the authority of a channel account (%s).", address);
    for (enum sample_source source = PLAIN; source <= MUXED; source++) {
        struct sample sample = a_payment();
        add_payment(&sample, source, OURS);
        refused_with(&sample, NULL, "FORBIDDEN_SIGNER", which);
    }
}

TEST(a_soroban_transaction_pays_its_resource_fee)
{
    struct sample sample = SAMPLE;
    struct buf auth CLEANUP(buf_free) = {0};
    add_address_entry(&auth, 1, ACCOUNT, 9);
    add_invoke(&sample, PLAIN, 9, 1, &auth);
    sample.resource_fee_stroops = 1234;
    AUTO_LEASED signed_one = leased(&sample, NULL);
    assert_true(signed_one.envelope.soroban);
    assert_int_equal(signed_one.envelope.fee_stroops, SERVICE_BASE_FEE + 1234);
}

TEST(max_time_is_the_earliest_and_the_reply_shows_what_set_it)
{
    static const struct {
        int own_s, timeout_s, expected_s;
        const char *set_by;
    } cases[] = {{0, 0, 60, "default"}, {100, 0, 100, "transaction"}, {0, 20, 20, "timeoutSeconds"},
        {0, 300, 300, "timeoutSeconds"}, {0, 301, 300, "limit"}, {0, 3600, 300, "limit"},
        {3600, 0, 300, "limit"}, {3600, 3600, 300, "limit"}, {100, 3600, 100, "transaction"},
        {100, 50, 50, "timeoutSeconds"}, {50, 100, 50, "transaction"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t now_s = time(NULL);
        struct sample sample = a_payment();
        service_reset(&service);
        set_times(&sample, 0, cases[i].own_s == 0 ? 0 : (uint64_t)(now_s + cases[i].own_s));
        json_t *more = cases[i].timeout_s == 0 ? json_pack("{s:n}", "timeoutSeconds")
                                               : json_pack("{s:i}", "timeoutSeconds", cases[i].timeout_s);
        AUTO_RESPONSE response = {0};
        post_sample(&response, &sample, more);
        sample_wipe(&sample);
        AUTO_LEASED signed_one = leased_of(&response);
        int64_t from_s = now_s + cases[i].expected_s;
        assert_in_range(
            signed_one.envelope.preconditions.max_time_s, from_s, time(NULL) + cases[i].expected_s + 1);
        assert_int_equal(signed_one.envelope.preconditions.max_time_s, number(&response, "maxTime"));
        assert_string_equal(response_text(&response, "maxTimeSetBy"), cases[i].set_by);
    }
}

/* The fee bump would cost 101 x 10,000 stroops; the maximum is 1,000,000. */
TEST(a_lease_that_no_fee_bump_could_pay_for_is_refused_before_it_takes_an_account)
{
    struct sample sample = SAMPLE, enough = SAMPLE;
    for (int i = 0; i < 100; i++)
        add_payment(&sample, PLAIN, CLIENT);
    refused(&sample, NULL, "FEE_EXCEEDS_MAXIMUM");
    for (int i = 0; i < 99; i++)
        add_payment(&enough, PLAIN, CLIENT);
    AUTO_LEASED signed_one = leased(&enough, NULL);
    assert_int_equal(signed_one.envelope.fee_stroops, 99 * SERVICE_BASE_FEE);
}

TEST(timeoutSeconds_is_a_whole_number_of_at_least_20)
{
    static const char *const wrong[] = {
        "19", "0", "-1", "60.0", "6e1", "\"60\"", "true", "[60]", "18446744073709551616"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO_RESPONSE response = {0};
        struct sample sample CLEANUP(sample_wipe) = a_payment();
        assert_int_equal(sample_decode(&sample, NULL), ERR_OK);
        AUTO_FREE char *xdr = base64_encode(buf_bytes(&sample.xdr));
        AUTO_FREE char *body = mem_format("{\"transactionXdr\":\"%s\",\"timeoutSeconds\":%s}", xdr, wrong[i]);
        service_request(&service, &response, "POST", PATH, "Content-Type: application/json\r\n",
            (struct bytes){(uint8_t *)body, strlen(body)});
        /* the JSON reader refuses numbers that do not fit int64 */
        assert_refused(&response, 400, i == ARRAY_LEN(wrong) - 1 ? "INVALID_JSON" : "INVALID_REQUEST");
    }
    assert_nothing_leased();
}

TEST(suspended_grants_are_503_without_the_reason)
{
    AUTO_RESPONSE response = {0};
    struct sample sample CLEANUP(sample_wipe) = a_payment();
    test_db_exec(&service.db,
        "UPDATE fairway.cursor SET grants_allowed = false, grants_reason = 'for operators only'");
    post_sample(&response, &sample, NULL);
    assert_refused(&response, 503, "GRANTS_SUSPENDED");
    assert_null(strstr(response_text(&response, "detail"), "operators"));
    assert_nothing_leased();
}

/* The database's message is only logged; the account is idle at once. */
TEST(a_lease_that_cannot_be_recorded_is_500_without_internal_text)
{
    AUTO_RESPONSE response = {0};
    struct sample sample CLEANUP(sample_wipe) = a_payment();
    test_db_exec(&service.db, "CREATE FUNCTION fairway.refuse() RETURNS trigger LANGUAGE plpgsql AS $$"
                              " BEGIN RAISE EXCEPTION 'words of a trigger'; END $$;"
                              "CREATE TRIGGER refuse BEFORE INSERT ON fairway.leases FOR EACH ROW EXECUTE "
                              "FUNCTION fairway.refuse()");
    post_sample(&response, &sample, NULL);
    test_db_exec(&service.db, "DROP FUNCTION fairway.refuse CASCADE");
    AUTO_FREE char *text = json_dumps(response.json, 0);
    assert_refused(&response, 500, "CONFLICT");
    assert_null(strstr(text, "trigger"));
    assert_null(json_object_get(response.json, "transactionXdr"));
    assert_nothing_leased();
}

TEST_FIXTURE(fixture_reset, NULL)
GROUP_FIXTURE(fixture_start, fixture_stop)
