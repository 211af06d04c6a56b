/*
 * release_network DATABASE_URL PASSPHRASE LEDGER_MS TRANSACTIONS AHEAD: the network of the bench's part
 * `release`, and a Stellar RPC for it. Every LEDGER_MS a ledger closes with all leases that are open shortly
 * before and as many made transactions as make TRANSACTIONS, each with metadata as large as on the public
 * network. AHEAD ledgers, without leases, are there from the beginning; further ones close only with a
 * LEDGER_MS above 0. Prints the RPC's URL, and for each ledger its number, when the RPC had it
 * (CLOCK_MONOTONIC, us), how many leases it has, and its size. Runs until a signal ends it.
 * It takes every transaction, and prints "sent", its hash, and when it arrived (Unix time, us). The answer to
 * every simulation has the resources in BENCH_RESOURCES. When it has no ledgers at all (LEDGER_MS and AHEAD
 * are 0), those it gives are malformed: a replica that reads one gives up the lead of ingestion for 20 polls,
 * so feed_ledgers has it.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "db/db.h"
#include "fuzz/xdr_mutator.h"
#include "integration/support/ledger_builder.h"
#include "integration/support/ledger_envelopes.h"

#define METAS 64
#define KEPT 16 /* ledgers that the RPC still has, unless they are made on demand */

/* A ledger as an element of getLedgers, without the brackets of JSON around it. */
struct item {
    struct buf json;
    unsigned uses; /* by the network, and by responses */
};

struct network {
    struct db *db;
    struct network_id id;
    const char *passphrase;
    struct built_transaction *made;
    size_t made_count;
    struct bytes metas[METAS];
    struct hash last_hash;
    int64_t last_close_s;
    pthread_mutex_t lock; /* for what follows */
    struct item *items[KEPT];
    uint32_t oldest, latest, ahead_until; /* up to ahead_until, ledgers are built when they are asked for */
    bool has_none;
};

static struct network network = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void die(const char *what)
{
    fprintf(stderr, "release_network: %s\n", what);
    exit(1);
}

/* The generator of the fuzz harnesses wants it. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    (void)data, (void)max;
    return size;
}

/* ---- what fills the ledgers */

/* Appends a made value of a size from least to most. */
static struct bytes make(enum xdr_type type, size_t least, size_t most, unsigned *seed)
{
    static uint8_t made[XDR_MADE_MAX];
    for (;;) {
        const size_t size = xdr_make(type, made, (*seed)++);
        if (size >= least && size <= most)
            return (struct bytes){mem_copy(made, size), size};
    }
}

/* Transactions and metadata as large as those of the public network: see the page of the bench. */
static void make_filling(size_t count)
{
    unsigned seed = 1;
    for (size_t i = 0; i < METAS; i++)
        network.metas[i] = make(XDR_TransactionMeta, 2500, 4200, &seed);
    network.made = NEW_ARRAY(count, struct built_transaction);
    while (network.made_count < count) {
        struct built_transaction *transaction = &network.made[network.made_count];
        struct buf known CLEANUP(buf_free) = {0};
        const struct bytes body = make(XDR_TransactionV1Envelope, 250, 700, &seed);
        struct buf envelope = {0};
        buf_add_u32(&envelope, 2); /* ENVELOPE_TYPE_TX */
        buf_add_bytes(&envelope, body);
        transaction->envelope = buf_bytes(&envelope);
        transaction->hash = envelope_hash_of(&network.id, transaction->envelope);
        if (!envelope_find(&transaction->hash, &known)) { /* no transaction twice in a set */
            envelope_add(&transaction->hash, transaction->envelope);
            network.made_count++;
        }
    }
}

/* ---- ledgers */

static const char sql_cursor[] = "SELECT c.sequence, c.hash, c.close_time FROM fairway.cursor c";
static const char sql_open[] =
    "SELECT l.hash, l.account, l.sequence, l.envelope FROM fairway.channel_accounts a"
    " JOIN fairway.leases l ON l.hash = a.lease_hash AND l.granted_at = a.locked_at"
    "   AND fairway.hour_key(l.granted_at, l.hash) = fairway.hour_key(a.locked_at, a.lease_hash)"
    " WHERE a.lease_hash IS NOT NULL";

/* Leaves out those of earlier ledgers, which fairway may not have committed yet. */
static size_t include_leases(
    const struct db_rows *open, struct built_transaction transactions[], struct built_account accounts[])
{
    size_t count = 0;
    for (size_t i = 0; i < db_count(open); i++) {
        struct buf known CLEANUP(buf_free) = {0};
        struct built_transaction *transaction = &transactions[count];
        memcpy(transaction->hash.bytes, db_bytea(open, i, 0).data, sizeof transaction->hash.bytes);
        transaction->envelope = db_bytea(open, i, 3);
        if (address_decode(db_text(open, i, 1), &accounts[count].key) != ERR_OK)
            die("address");
        accounts[count].sequence = db_i64(open, i, 2);
        if (!envelope_find(&transaction->hash, &known)) {
            envelope_add(&transaction->hash, transaction->envelope);
            count++;
        }
    }
    return count;
}

static struct item *write_item(uint32_t sequence, const struct hash *hash, struct bytes meta)
{
    struct item *item = NEW(struct item);
    char hex[2 * sizeof hash->bytes + 1];
    hex_encode(hash->bytes, sizeof hash->bytes, hex);
    AUTO_FREE char *head = mem_format("{\"hash\":\"%s\",\"sequence\":%" PRIu32
                                      ",\"ledgerCloseTime\":\"0\",\"headerXdr\":\"\",\"metadataXdr\":\"",
        hex, sequence);
    buf_add(&item->json, head, strlen(head));
    base64_add(&item->json, meta);
    buf_add(&item->json, "\"}", 2);
    item->uses = 1;
    return item;
}

/* Builds the next ledger with these rows of sql_open (NULL: none). */
static struct item *build(const struct db_rows *open, uint32_t sequence, size_t *leases, size_t *size)
{
    const size_t own = open != NULL ? db_count(open) : 0;
    struct built_transaction *transactions AUTO_FREE =
        NEW_ARRAY(own + network.made_count, struct built_transaction);
    struct built_account *accounts AUTO_FREE = NEW_ARRAY(own + 1, struct built_account);
    struct buf meta CLEANUP(buf_free) = {0};
    *leases = own > 0 ? include_leases(open, transactions, accounts) : 0;
    const size_t made = network.made_count > *leases ? network.made_count - *leases : 0;
    for (size_t i = 0; i < made; i++)
        transactions[*leases + i] = network.made[i];
    const int64_t now_s = time(NULL);
    network.last_close_s = now_s > network.last_close_s ? now_s : network.last_close_s;
    const struct built_ledger ledger = {.meta_version = 2,
        .sequence = sequence,
        .network = &network.id,
        .previous_hash = network.last_hash,
        .close_time_s = (uint64_t)network.last_close_s,
        .transactions = transactions,
        .transaction_count = *leases + made,
        .accounts = accounts,
        .account_count = *leases,
        .metas = network.metas,
        .meta_count = METAS};
    ledger_build(&ledger, &meta, &network.last_hash);
    struct item *item = write_item(sequence, &network.last_hash, buf_bytes(&meta));
    *size = meta.len;
    return item;
}

/* With the lock. */
static void drop(struct item *item)
{
    if (item == NULL || --item->uses > 0)
        return;
    buf_free(&item->json);
    free(item);
}

/* With the lock. */
static void publish(struct item *item)
{
    struct item **place = &network.items[++network.latest % KEPT];
    drop(*place);
    *place = item;
    if (network.latest - network.oldest >= KEPT)
        network.oldest = network.latest - KEPT + 1;
}

static void sleep_until(int64_t us)
{
    const struct timespec at = {us / 1000000, us % 1000000 * 1000};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Closes a ledger every ledger_ms. What it takes to build one is known from the last. */
_Noreturn static void *close_ledgers(void *context)
{
    const int64_t ledger_us = 1000LL * *(const int *)context;
    int64_t takes_us = 200000;
    for (int64_t due_us = clock_us() + ledger_us;; due_us += ledger_us) {
        AUTO_ROWS open = NULL;
        struct detail detail = {""};
        size_t leases, size;
        sleep_until(due_us - takes_us);
        const int64_t begun_us = clock_us();
        if (db_query(network.db, DB_SQL0(sql_open), &open, &detail) != ERR_OK)
            die(detail.text);
        struct item *item = build(open, network.latest + 1, &leases, &size);
        takes_us = (clock_us() - begun_us) * 5 / 4 + 10000;
        takes_us = takes_us < ledger_us ? takes_us : ledger_us;
        sleep_until(due_us);
        pthread_mutex_lock(&network.lock);
        publish(item);
        printf("%" PRIu32 " %" PRId64 " %zu %zu\n", network.latest, clock_us(), leases, size);
        pthread_mutex_unlock(&network.lock);
    }
}

/* ---- the RPC */

struct reply {
    char head[256], tail[256], *text; /* text: on the heap */
    struct item *items[KEPT];
    struct MHD_IoVec parts[2 + 2 * KEPT];
    unsigned count;
};

static void reply_free(void *context)
{
    struct reply *reply = context;
    pthread_mutex_lock(&network.lock);
    for (size_t i = 0; i < KEPT; i++)
        drop(reply->items[i]);
    pthread_mutex_unlock(&network.lock);
    free(reply->text);
    free(reply);
}

static void add_part(struct reply *reply, const void *data, size_t len)
{
    reply->parts[reply->count++] = (struct MHD_IoVec){data, len};
}

/* With the lock. Makes the ledgers that exist from the beginning; they are asked for in order. */
static struct item *take_item(uint32_t sequence)
{
    size_t leases, size;
    if (sequence > network.latest)
        publish(build(NULL, sequence, &leases, &size));
    struct item *item = network.items[sequence % KEPT];
    item->uses++;
    return item;
}

static void write_ledgers(struct reply *reply, unsigned long long id, uint32_t start, uint32_t limit)
{
    pthread_mutex_lock(&network.lock);
    const uint32_t oldest = network.oldest,
                   latest = network.latest > network.ahead_until ? network.latest : network.ahead_until;
    if (start < oldest || start > latest) {
        snprintf(reply->head, sizeof reply->head,
            "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"error\":{\"code\":-32600,\"message\":\"start ledger (%u) "
            "must "
            "be between the oldest ledger: %u and the latest ledger: %u for this rpc instance\"}}",
            id, start, oldest, latest);
        add_part(reply, reply->head, strlen(reply->head));
    } else {
        snprintf(reply->head, sizeof reply->head,
            "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{\"ledgers\":[", id);
        add_part(reply, reply->head, strlen(reply->head));
        for (uint32_t i = 0; i < limit && i < KEPT && i <= latest - start; i++) {
            reply->items[i] = take_item(start + i);
            if (i > 0)
                add_part(reply, ",", 1);
            add_part(reply, reply->items[i]->json.data, reply->items[i]->json.len);
        }
        snprintf(reply->tail, sizeof reply->tail,
            "],\"latestLedger\":%u,\"oldestLedger\":%u,\"cursor\":\"0\"}}", latest, oldest);
        add_part(reply, reply->tail, strlen(reply->tail));
    }
    pthread_mutex_unlock(&network.lock);
}

static unsigned long long number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    return at != NULL ? strtoull(at + strlen(name), NULL, 10) : 0;
}

/* sendTransaction: notes when this transaction has arrived. */
static void note_sent(const char *request)
{
    static const char member[] = "\"transaction\":\"";
    const char *base64 = strstr(request, member);
    struct buf envelope CLEANUP(buf_free) = {0};
    struct timespec now;
    char hex[HASH_HEX_SIZE];
    timespec_get(&now, TIME_UTC);
    if (base64 == NULL ||
        base64_decode(base64 + strlen(member), strcspn(base64 + strlen(member), "\""), &envelope) != ERR_OK)
        die("sendTransaction");
    const struct hash hash = envelope_hash_of(&network.id, buf_bytes(&envelope));
    hash_encode(&hash, hex);
    printf("sent %s %" PRId64 "\n", hex, (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
}

/* The result of any method but getLedgers from ledgers that exist, or an error. */
static char *result_of(const char *request)
{
    if (strstr(request, "\"sendTransaction\"") != NULL) {
        note_sent(request);
        return mem_format("\"result\":{\"status\":\"PENDING\",\"latestLedger\":%u}", network.latest);
    }
    if (strstr(request, "\"simulateTransaction\"") != NULL)
        return mem_format("\"result\":{\"transactionData\":\"%s\",\"minResourceFee\":\"1000\",\"results\":"
                          "[{\"auth\":[],\"xdr\":\"AAAAAQ==\"}],\"latestLedger\":%u}",
            getenv("BENCH_RESOURCES"), network.latest);
    if (strstr(request, "\"getNetwork\"") != NULL)
        return mem_format(
            "\"result\":{\"passphrase\":\"%s\",\"protocolVersion\":%d}", network.passphrase, BUILT_PROTOCOL);
    if (strstr(request, "\"getLedgers\"") != NULL) {
        const unsigned start = (unsigned)number_after(request, "\"startLedger\":");
        return mem_format(
            "\"result\":{\"ledgers\":[{\"sequence\":%u,\"hash\":\"%064d\",\"metadataXdr\":\"AAAA\"}],"
            "\"latestLedger\":%u,\"oldestLedger\":1}",
            start, 0, start);
    }
    return mem_copy_text("\"error\":{\"code\":-32603,\"message\":\"no such method\"}");
}

static enum MHD_Result answer(struct MHD_Connection *connection, const char *request)
{
    struct reply *reply = NEW(struct reply);
    const unsigned long long id = number_after(request, "\"id\":");
    if (!network.has_none && strstr(request, "\"getLedgers\"") != NULL) {
        write_ledgers(reply, id, (uint32_t)number_after(request, "\"startLedger\":"),
            (uint32_t)number_after(request, "\"limit\":"));
    } else {
        AUTO_FREE char *result = result_of(request);
        const char *takes_ms = getenv("BENCH_RPC_MS");
        clock_sleep_ms(takes_ms != NULL ? atoi(takes_ms) : 0);
        reply->text = mem_format("{\"jsonrpc\":\"2.0\",\"id\":%llu,%s}", id, result);
        add_part(reply, reply->text, strlen(reply->text));
    }
    struct MHD_Response *response =
        MHD_create_response_from_iovec(reply->parts, reply->count, reply_free, reply);
    MHD_add_response_header(response, "Content-Type", "application/json");
    const enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url,
    const char *method, const char *version, const char *data, size_t *size, void **kept)
{
    (void)context, (void)url, (void)method, (void)version;
    if (*kept == NULL) {
        *kept = NEW(struct buf);
        return MHD_YES;
    }
    struct buf *request = *kept;
    if (*size > 0) {
        buf_add(request, data, *size);
        *size = 0;
        return MHD_YES;
    }
    buf_add(request, "", 1);
    return answer(connection, (const char *)request->data);
}

static void completed(
    void *context, struct MHD_Connection *connection, void **kept, enum MHD_RequestTerminationCode code)
{
    (void)context, (void)connection, (void)code;
    if (*kept != NULL)
        buf_free(*kept);
    free(*kept);
}

/* ---- */

static void begin_at_the_cursor(uint32_t ahead)
{
    AUTO_ROWS cursor = NULL;
    struct detail detail = {""};
    if (db_query(network.db, DB_SQL0(sql_cursor), &cursor, &detail) != ERR_OK)
        die(detail.text);
    network.latest = (uint32_t)db_i64(cursor, 0, 0);
    network.oldest = network.latest + 1;
    network.ahead_until = network.latest + ahead;
    memcpy(network.last_hash.bytes, db_bytea(cursor, 0, 1).data, sizeof network.last_hash.bytes);
    network.last_close_s = db_i64(cursor, 0, 2);
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "usage: release_network DATABASE_URL PASSPHRASE LEDGER_MS TRANSACTIONS AHEAD\n");
        return 64;
    }
    int ledger_ms = atoi(argv[3]);
    network.passphrase = argv[2];
    network.id = network_id_of(argv[2]);
    network.db = db_new(&(struct db_settings){.url = argv[1], .name = "release_network"});
    begin_at_the_cursor((uint32_t)atoi(argv[5]));
    make_filling((size_t)atoi(argv[4]));
    network.has_none = ledger_ms == 0 && network.ahead_until == network.latest;
    setlinebuf(stdout);
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, handle, NULL,
        MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL, MHD_OPTION_END);
    if (daemon == NULL)
        die("MHD_start_daemon");
    printf("http://127.0.0.1:%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    pthread_t thread;
    if (ledger_ms > 0 && pthread_create(&thread, NULL, close_ledgers, &ledger_ms) != 0)
        die("pthread_create");
    for (;;)
        pause();
}
