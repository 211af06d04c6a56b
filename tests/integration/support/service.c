#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/metric.h"
#include "base/text.h"
#include "keyd.h"
#include "settle_alone.h"
#include "pool/master_keys.h"
#include "pool/settle.h"
#include "unit/http/client.h"
#include "unit/rpc/fake_rpc.h"

#define FIRST_LEDGER 1000
#define WAIT_MS 20000

static void must(enum err e, const struct detail *detail, const char *doing)
{
    if (e != ERR_OK)
        fail_msg("%s: %s %s", doing, err_code(e), detail->text);
}

static void run(struct service *service, struct db_statement statement)
{
    struct detail detail = {0};
    must(db_query(service->sql, statement, NULL, &detail), &detail, statement.sql);
}

static struct keyd *start_keyd(struct service *service)
{
    const struct keyd_secrets secrets = keyd_known_secrets();
    const struct keyd_settings settings = {.budget = keyd_test_settings().budget,
        .network = service->network,
        .limits = {.base_fee_stroops = SERVICE_BASE_FEE,
            .max_resource_fee_stroops = SERVICE_MAX_RESOURCE_FEE},
        .max_lease_fee_stroops = SERVICE_BASE_FEE * OPERATIONS_MAX + SERVICE_MAX_RESOURCE_FEE,
        .max_bump_fee_stroops = SERVICE_MAX_BUMP_FEE};
    struct master_key_row row;
    struct detail detail = {0};
    struct keyd *keyd = NULL;
    bool is_new;
    must(
        keyd_start(keyd_program(), KEYD_SERVE, &settings, &secrets, &keyd, &detail), &detail, keyd_program());
    must(keyd_load(keyd, NULL, 0, &row, &is_new, &service->distribution, &detail), &detail, "master key");
    must(master_key_store(service->sql, &row, &row, 1, &detail), &detail, "master key row");
    return keyd;
}

static void store_account(struct service *service, const struct generated_key *key, int32_t slot)
{
    char address[ADDRESS_SIZE];
    address_encode(&key->public_key, address);
    run(service, DB_SQL("INSERT INTO fairway.channel_accounts"
                        " (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)"
                        " VALUES ($1, $2, $3, $4, $5, $6, 'active')",
                     DB_TEXT(address), DB_I32(slot), DB_BYTEA(BYTES_OF(key->sealed.box)),
                     DB_TEXT(key->sealed.key_id), DB_I64((int64_t)FIRST_LEDGER << 32), DB_I64(FIRST_LEDGER)));
}

static void make_accounts(struct service *service)
{
    struct generated_key *keys AUTO_FREE = NEW_ARRAY(service->account_count, struct generated_key);
    keyd_accounts(keys, service->account_count);
    service->accounts = NEW_ARRAY(service->account_count, struct public_key);
    for (size_t i = 0; i < service->account_count; i++) {
        store_account(service, &keys[i], (int32_t)i);
        service->accounts[i] = keys[i].public_key;
    }
}

static bool ingest_ready(void *context, struct detail *why)
{
    struct service *service = context;
    *why = service->ingestion_error;
    return service->ingestion_works;
}

const struct funds_limits service_funds = {
    .payment_stroops = SERVICE_PAYMENT, .low_payments = 1000, .min_payments = 100};

const struct policy_limits service_limits = {.base_fee_stroops = SERVICE_BASE_FEE,
    .max_resource_fee_stroops = SERVICE_MAX_RESOURCE_FEE,
    .bump_base_fee_stroops = SERVICE_BUMP_BASE_FEE,
    .max_bump_fee_stroops = SERVICE_MAX_BUMP_FEE};

static void start_engine(struct service *service)
{
    const struct engine_settings engine = {.database_url = service->db.serve_url,
        .grant = {.network = service->network,
            .limits = {.base_fee_stroops = SERVICE_BASE_FEE,
                .max_resource_fee_stroops = SERVICE_MAX_RESOURCE_FEE},
            .funds = service_funds,
            .ledger_ms = 5000},
        .keyd = service->keyd};
    service->engine = engine_start(&engine);
    service->watch = watch_start(service->db.serve_url, MASTER_KEYS_SESSION, service->engine, NULL, NULL);
}

void service_set_rpc(struct service *service)
{
    address_forget();
    fake_set_reply(service->rpc, 0,
        (struct fake_reply){.method = "simulateTransaction",
            .body = FAKE_RESULT("{\"minResourceFee\":\"5000000\",\"latestLedger\":1000}")});
    fake_set_reply(service->rpc, 1,
        (struct fake_reply){.method = "getLedgerEntries", .body = FAKE_LIMITS(FAKE_400_MILLION)});
}

static void start_api(struct service *service, const struct policy_limits *limits)
{
    AUTO_FREE char *url = fake_url(service->rpc);
    snprintf(service->rpc_url, sizeof service->rpc_url, "%s", url);
    struct api_settings settings = {.engine = service->engine,
        .watch = service->watch,
        .keyd = service->keyd,
        .database_url = service->db.serve_url,
        .rpc_url = service->rpc_url,
        .passphrase = SERVICE_PASSPHRASE,
        .network = service->network,
        .limits = *limits,
        .resource_margin_percent = 15,
        .funds = service_funds,
        .synchronous_failover = service->synchronous_failover,
        .ledger_ms = 5000,
        .reports_anew = true,
        .ingest_ready = ingest_ready,
        .ingest_context = service,
        .seen_ledger = &service->seen_ledger};
    settings.limits.distribution = service->distribution;
    service->api = api_start(&settings);
    service->admin = api_start_admin(&settings);
    struct http_server_settings http = {0}, admin_http = {.listener = METRIC_ADMIN};
    const struct http_route *routes = api_routes(service->api, &http.route_count);
    service->http = serve(routes, http.route_count, http);
    routes = api_routes(service->admin, &admin_http.route_count);
    service->admin_http = serve(routes, admin_http.route_count, admin_http);
}

static void stop_admin(struct service *service)
{
    http_server_drain(service->admin_http, 1000);
    api_drain(service->admin);
    http_server_free(service->admin_http);
    api_free(service->admin);
}

/* The first read connects to the database, which on a busy machine takes longer than a read may. */
static void await_reads(struct service *service)
{
    for (const int64_t end_ms = clock_ms() + slower(WAIT_MS);; clock_sleep_ms(20)) {
        AUTO_RESPONSE response = {0};
        service_get(service, &response, "/v1/channel-accounts");
        if (response.status == 200)
            return;
        assert_true(clock_left_ms(end_ms) > 0);
    }
}

void service_start(struct service *service, size_t accounts)
{
    *service = (struct service){.account_count = accounts, .ingestion_works = true};
    if (log_set_level("error") != ERR_OK) /* most of these tests cause warnings */
        abort();
    service->network = network_id_of(SERVICE_PASSPHRASE);
    service->db = test_db_new(TEST_DB_MIGRATED);
    service->sql = test_db_open(&service->db);
    service->keyd = start_keyd(service);
    make_accounts(service);
    test_db_exec(&service->db,
        "INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count)"
        " VALUES (1000, decode(repeat('00', 32), 'hex'), 28,"
        " extract(epoch FROM clock_timestamp())::int8, 0);"
        "INSERT INTO fairway.cursor (sequence, hash, close_time) SELECT sequence, hash, close_time"
        " FROM fairway.ledgers");
    assert_int_equal(fake_start((void **)&service->rpc), 0);
    service_set_rpc(service);
    start_engine(service);
    start_api(service, &service_limits);
    await_reads(service);
}

void service_restart_api(struct service *service, const struct policy_limits *limits)
{
    stop_admin(service);
    http_server_drain(service->http, 1000);
    api_drain(service->api);
    http_server_free(service->http);
    api_free(service->api);
    start_api(service, limits);
}

void service_stop(struct service *service)
{
    stop_admin(service);
    http_server_drain(service->http, 1000);
    api_drain(service->api);
    watch_stop(service->watch);
    engine_stop(service->engine);
    http_server_free(service->http);
    watch_free(service->watch);
    api_free(service->api);
    fake_stop((void **)&service->rpc);
    keyd_stop(service->keyd);
    db_free(service->sql);
    test_db_drop(&service->db);
    free(service->accounts);
}

void service_reset(struct service *service)
{
    service_set_rpc(service);
    test_db_exec(&service->db, TEST_DELETE_LEASES
        "DELETE FROM fairway.funds;"
        "UPDATE fairway.channel_accounts SET state = 'active', quarantine_reason = NULL;"
        "UPDATE fairway.cursor SET close_time = extract(epoch FROM clock_timestamp())::int8,"
        " grants_allowed = true, grants_reason = NULL, held_until = NULL, hold_reason = NULL;"
        "NOTIFY fairway_pool");
    service->ingestion_works = true;
}

void service_set_spendable(struct service *service, int64_t stroops)
{
    test_db_exec(&service->db, "DELETE FROM fairway.funds");
    if (stroops >= 0)
        run(service,
            DB_SQL("INSERT INTO fairway.funds (ledger, balance, reserves, selling_liabilities, base_reserve,"
                   " spendable) VALUES (1000, $1 + 10000000, 2, 0, 5000000, $1)",
                DB_I64(stroops)));
}

static void commit_ledger(struct service *service, struct ledger *ledger)
{
    struct detail detail = {0};
    struct settled settled = {0};
    AUTO_ROWS cursor = NULL;
    must(db_begin(service->sql, &detail), &detail, "begin");
    must(db_query(service->sql,
             DB_SQL0("UPDATE fairway.cursor SET sequence = sequence + 1,"
                     " close_time = greatest(close_time, extract(epoch FROM clock_timestamp())::int8)"
                     " RETURNING sequence, close_time"),
             &cursor, &detail),
        &detail, "cursor");
    ledger->sequence = (uint32_t)db_i64(cursor, 0, 0);
    ledger->close_time_s = (uint64_t)db_i64(cursor, 0, 1);
    must(settle_alone(service->sql, ledger, NULL, &settled, &detail), &detail, "settle");
    must(db_commit(service->sql, &detail), &detail, "commit");
}

/* A TransactionResult without operations; outer_code: of the fee bump, if there is one. */
static struct buf result_of(const struct hash *inner, int32_t outer_code, int32_t code)
{
    struct buf result = {0};
    buf_add_u64(&result, SERVICE_FEE_CHARGED);
    if (inner != NULL) {
        buf_add_u32(&result, (uint32_t)outer_code);
        buf_add(&result, inner->bytes, sizeof inner->bytes);
        buf_add_u64(&result, 0);
    }
    buf_add_u32(&result, (uint32_t)code);
    if (code == 0 || code == -1)
        buf_add_u32(&result, 0);
    for (int extensions = inner != NULL ? 2 : 1; extensions > 0; extensions--)
        buf_add_u32(&result, 0);
    return result;
}

void service_include(
    struct service *service, const struct hash *lease, const struct hash *fee_bump, int32_t result_code)
{
    struct detail detail = {0};
    AUTO_ROWS rows = NULL;
    must(db_query(service->sql,
             DB_SQL("SELECT l.account, l.sequence FROM fairway.lease_history l WHERE l.hash = $1",
                 DB_BYTEA(BYTES_OF(lease->bytes))),
             &rows, &detail),
        &detail, "lease");
    struct ledger_transaction transaction = {.hash = *lease, .code = result_code};
    if (fee_bump != NULL)
        transaction = (struct ledger_transaction){.hash = *fee_bump,
            .code = result_code == 0 ? 1 : -13,
            .fee_bump = true,
            .inner_hash = *lease,
            .inner_code = result_code};
    must(address_decode(db_text(rows, 0, 0), &transaction.source), &detail, "account");
    transaction.sequence = db_i64(rows, 0, 1);
    transaction.consumed = true;
    struct buf result CLEANUP(buf_free) =
        result_of(fee_bump == NULL ? NULL : lease, transaction.code, result_code);
    transaction.result = buf_bytes(&result);
    commit_ledger(service, &(struct ledger){.transactions = &transaction, .transaction_count = 1});
}

void service_close_ledger(struct service *service)
{
    commit_ledger(service, &(struct ledger){0});
}

void response_wipe(struct response *response)
{
    json_decref(response->json);
    response->json = NULL;
}

static void take(struct client *client, struct response *response, bool bodiless)
{
    AUTO_FREE struct reply *reply = NEW(struct reply);
    struct pollfd readable = {.fd = client->fd, .events = POLLIN};
    response_wipe(response);
    poll(&readable, 1, WAIT_MS); /* hear waits less long than a request for an account */
    if (!hear_as(client, reply, bodiless))
        fail_msg("the connection ended without a reply");
    response->status = reply->status;
    snprintf(response->head, sizeof response->head, "%s", reply->head);
    response->json = json_loadb(reply->body, reply->body_len, JSON_REJECT_DUPLICATES, NULL);
    if (!bodiless && response->json == NULL)
        fail_msg("not JSON: %s", reply->body);
    hang_up(client);
}

void service_request(struct service *service, struct response *response, const char *method, const char *path,
    const char *head, struct bytes body)
{
    AUTO_FREE struct client *client = NEW(struct client);
    AUTO_FREE char *length =
        body.data == NULL ? mem_copy_text("") : mem_format("Content-Length: %zu\r\n", body.len);
    AUTO_FREE char *lines = mem_format("%s %s HTTP/1.1\r\nHost: x\r\n%s%s\r\n", method, path, length, head);
    dial(client, service->http);
    say(client, lines);
    if (body.len > 0)
        say_bytes(client, body.data, body.len);
    take(client, response, strcmp(method, "HEAD") == 0);
}

void service_get(struct service *service, struct response *response, const char *path)
{
    service_request(service, response, "GET", path, "", (struct bytes){0});
}

void service_post(struct service *service, struct response *response, const char *path, json_t *body)
{
    AUTO_FREE char *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    service_request(
        service, response, "POST", path, JSON_TYPE, (struct bytes){(uint8_t *)text, strlen(text)});
}

int service_send(struct service *service, const char *method, const char *path, json_t *body)
{
    AUTO_FREE struct client *client = NEW(struct client);
    AUTO_FREE char *text = body == NULL ? mem_copy_text("") : json_dumps(body, JSON_COMPACT);
    AUTO_FREE char *lines =
        mem_format("%s %s HTTP/1.1\r\nHost: x\r\n" JSON_TYPE "Content-Length: %zu\r\n\r\n%s", method, path,
            strlen(text), text);
    json_decref(body);
    dial(client, service->http);
    say(client, lines);
    return client->fd;
}

void service_receive(int fd, struct response *response)
{
    AUTO_FREE struct client *client = NEW(struct client);
    client->fd = fd;
    take(client, response, false);
}

const char *response_header(const struct response *response, const char *name)
{
    AUTO_FREE struct reply *reply = NEW(struct reply);
    reply->head = (char *)response->head;
    return reply_header(reply, name);
}

json_t *service_body(struct bytes xdr)
{
    AUTO_FREE char *text = base64_encode(xdr);
    return json_pack("{s:s}", "transactionXdr", text);
}

const char *response_text(const struct response *response, const char *member)
{
    const char *text = json_string_value(json_object_get(response->json, member));
    if (text == NULL) {
        AUTO_FREE char *all = json_dumps(response->json, 0);
        fail_msg("no %s in %d %s", member, response->status, all);
    }
    return text;
}

struct hash response_hash(const struct response *response, const char *member)
{
    struct hash hash = {0};
    assert_int_equal(hash_decode(response_text(response, member), &hash), ERR_OK);
    return hash;
}

void response_xdr(const struct response *response, const char *member, struct buf *out)
{
    const char *text = response_text(response, member);
    assert_int_equal(base64_decode(text, strlen(text), out), ERR_OK);
}

void assert_json_members(const json_t *object, const char *const names[])
{
    size_t count = 0;
    for (; names[count] != NULL; count++)
        if (json_object_get(object, names[count]) == NULL)
            fail_msg("no member %s", names[count]);
    assert_int_equal(json_object_size(object), count);
}

void assert_refused(const struct response *response, int status, const char *code)
{
    static const char *const members[] = {"type", "title", "status", "detail", "code", "requestId", NULL};
    const char *got = response_text(response, "code");
    if (response->status != status || strcmp(got, code) != 0)
        fail_msg(
            "%d %s (%s), not %d %s", response->status, got, response_text(response, "detail"), status, code);
    for (size_t i = 0; members[i] != NULL; i++)
        assert_non_null(json_object_get(response->json, members[i]));
    assert_int_equal(json_integer_value(json_object_get(response->json, "status")), status);
    assert_string_equal(response_header(response, "Content-Type"), "application/problem+json");
    assert_string_equal(response_header(response, "X-Request-Id"), response_text(response, "requestId"));
    assert_true((status == 503) == (response_header(response, "Retry-After") != NULL));
}

int64_t service_number(struct service *service, const char *sql, ...)
{
    va_list args;
    char text[1000];
    va_start(args, sql);
    vsnprintf(text, sizeof text, sql, args);
    va_end(args);
    return test_db_number(&service->db, text);
}

int64_t service_leases(struct service *service)
{
    return test_db_number(&service->db, "SELECT count(*) FROM fairway.leases");
}

int64_t service_leased_accounts(struct service *service)
{
    return test_db_number(
        &service->db, "SELECT count(*) FROM fairway.channel_accounts WHERE lease_hash IS NOT NULL");
}
