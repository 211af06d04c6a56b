/* The proof of a ledger's transactions: the set has the header's hash, and what the results are of. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "ledger_meta.h"

enum {
    TX_V0 = 0,
    TX = 2,
    FEE_BUMP = 5,
};

static const struct network_id network = {{7, 7, 7}};

/* An envelope, as it stands in a set and as its hash is made. */
struct sent {
    uint32_t type;
    uint8_t source;
    bool muxed;
    int64_t sequence;
    struct bytes operations; /* one after the other; empty: none */
    uint32_t operation_count;
    struct buf envelope;
    struct hash hash;
};

static void add_source(struct buf *out, uint8_t source, bool muxed)
{
    buf_add_u32(out, muxed ? 0x100 : 0);
    if (muxed)
        buf_add_u64(out, 99);
    add_key(out, source);
}

/* From the fee on: no preconditions, no memo, operations, ext. */
static void add_rest(struct buf *out, const struct sent *sent)
{
    buf_add_u32(out, 100);
    buf_add_u64(out, (uint64_t)sent->sequence);
    add_words(out, 2, 0);
    buf_add_u32(out, sent->operation_count);
    buf_add_bytes(out, sent->operations);
    add_words(out, 1, 0);
}

static void sent_build(struct sent *sent)
{
    CLEANUP(buf_free) struct buf body = {0}, payload = {0};
    if (sent->type == FEE_BUMP) {
        add_source(&body, 0xfe, true);
        buf_add_u64(&body, 400);
        buf_add_u32(&body, TX);
    }
    if (sent->type == TX_V0)
        add_key(&body, sent->source);
    else
        add_source(&body, sent->source, sent->muxed);
    add_rest(&body, sent);
    if (sent->type == FEE_BUMP)
        add_words(&body, 2, 0); /* no inner signatures; ext */
    buf_add(&payload, network.bytes, sizeof network.bytes);
    buf_add_u32(&payload, sent->type == TX_V0 ? TX : sent->type);
    if (sent->type == TX_V0)
        buf_add_u32(&payload, 0); /* key type */
    buf_add_bytes(&payload, buf_bytes(&body));
    sent->hash = sha256(buf_bytes(&payload));
    sent->envelope = (struct buf){0};
    buf_add_u32(&sent->envelope, sent->type);
    buf_add_bytes(&sent->envelope, buf_bytes(&body));
    buf_add_u32(&sent->envelope, 1); /* a signature of four bytes */
    buf_add_u32(&sent->envelope, 0x01020304);
    buf_add_u32(&sent->envelope, 4);
    buf_add_u32(&sent->envelope, 0x05060708);
}

#define SENT_COUNT 5
static struct sent sent[SENT_COUNT] = {
    {.type = TX, .source = 0xa1, .sequence = 11},
    {.type = TX_V0, .source = 0xa2, .sequence = 12},
    {.type = FEE_BUMP, .source = 0xa3, .muxed = true, .sequence = 13},
    {.type = TX, .source = 0xa4, .muxed = true, .sequence = 14},
    {.type = FEE_BUMP, .source = 0xa5, .sequence = 15},
};

static int build_all(void **state)
{
    for (size_t i = 0; i < SENT_COUNT; i++)
        sent_build(&sent[i]);
    return 0;
}

static int free_all(void **state)
{
    for (size_t i = 0; i < SENT_COUNT; i++)
        buf_free(&sent[i].envelope);
    return 0;
}

static void add_sent(struct buf *out, size_t from, size_t to)
{
    buf_add_u32(out, (uint32_t)(to - from));
    for (size_t i = from; i < to; i++)
        buf_add_bytes(out, buf_bytes(&sent[i].envelope));
}

/* Of the components in the set; 0: none. */
static int64_t base_fees[3] = {0, 200, 0};

static void add_base_fee(struct buf *out, size_t component)
{
    buf_add_u32(out, base_fees[component] != 0);
    if (base_fees[component] != 0)
        buf_add_u64(out, (uint64_t)base_fees[component]);
}

/* A classic phase with two components and a parallel one with two stages, of one and two clusters. */
static void add_phases(struct buf *out)
{
    buf_add_u32(out, 2);
    add_words(out, 1, 0);
    buf_add_u32(out, 2);
    add_words(out, 1, 0);
    add_base_fee(out, 0);
    add_sent(out, 0, 1);
    add_words(out, 1, 0);
    add_base_fee(out, 1);
    add_sent(out, 1, 2);
    buf_add_u32(out, 1);
    add_base_fee(out, 2);
    buf_add_u32(out, 2);
    buf_add_u32(out, 1);
    add_sent(out, 2, 3);
    buf_add_u32(out, 2);
    add_sent(out, 3, 4);
    add_sent(out, 4, 5);
}

static struct buf build_set(uint32_t version, bool empty, struct hash *hash)
{
    struct buf set = {0}, hashed CLEANUP(buf_free) = {0};
    if (version >= 1)
        buf_add_u32(&set, 1);
    add_key(&set, 0xee);
    if (empty)
        buf_add_u32(&set, 0);
    else if (version >= 1)
        add_phases(&set);
    else
        add_sent(&set, 0, SENT_COUNT);
    buf_add_bytes(&hashed, buf_bytes(&set));
    if (version == 0) { /* without the count */
        memmove(hashed.data + 32, hashed.data + 36, hashed.len - 36);
        hashed.len -= 4;
    }
    *hash = sha256(buf_bytes(&hashed));
    return set;
}

/* In another order than the set, as a ledger applies them. */
static const size_t order[SENT_COUNT] = {4, 2, 0, 3, 1};

struct fixture {
    struct test_transaction results[SENT_COUNT + 1];
    struct test_meta meta;
    struct buf set;
};

static struct fixture *fixture_new(uint32_t version)
{
    struct fixture *fixture = NEW(struct fixture);
    fixture->meta = (struct test_meta){.version = version, .sequence = 5};
    fixture->set = build_set(version, false, &fixture->meta.set_hash);
    fixture->meta.set = buf_bytes(&fixture->set);
    for (size_t i = 0; i < SENT_COUNT; i++) {
        const struct sent *what = &sent[order[i]];
        fixture->results[i] = (struct test_transaction){.real_hash = &what->hash};
        if (what->type == FEE_BUMP)
            fixture->results[i].code = 1, fixture->results[i].inner_hash = 0x11;
    }
    fixture->meta.transactions = fixture->results;
    fixture->meta.transaction_count = SENT_COUNT;
    return fixture;
}

static void fixture_free(struct fixture **fixture)
{
    buf_free(&(*fixture)->set);
    free(*fixture);
}

static struct ledger decode(const struct fixture *fixture, const struct network_id *of)
{
    struct buf bytes CLEANUP(buf_free) = meta_build(&fixture->meta);
    struct ledger ledger;
    assert_int_equal(ledger_decode(buf_bytes(&bytes), of, &ledger, NULL), ERR_OK);
    assert_true(ledger.hash_proved);
    assert_true(ledger.results_proved);
    return ledger;
}

static bool proved(const struct fixture *fixture)
{
    struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
    bool set_proved = ledger.set_proved;
    return set_proved;
}

TEST(each_transaction_gets_its_source_and_sequence_number_whatever_its_form_and_phase)
{
    for (uint32_t version = 0; version <= 2; version++) {
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(version);
        struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
        assert_true(ledger.set_proved);
        for (size_t i = 0; i < SENT_COUNT; i++) {
            const struct ledger_transaction *transaction = &ledger.transactions[i];
            const struct sent *what = &sent[order[i]];
            assert_true(hash_equal(&transaction->hash, &what->hash));
            assert_int_equal(transaction->fee_source.bytes[0], what->type == FEE_BUMP ? 0xfe : what->source);
            assert_int_equal(transaction->source.bytes[0], what->source);
            assert_int_equal(transaction->source.bytes[31], what->source);
            assert_int_equal(transaction->sequence, what->sequence);
            assert_true(transaction->consumed);
        }
    }
}

TEST(the_price_of_a_lane_is_that_of_its_components_where_it_is_above_the_base_fee)
{
    static const struct {
        int64_t base_fees[3], prices[LANE_COUNT];
    } cases[] = {{{0, 0, 0}, {0, 0, 0}}, {{100, 300, 0}, {0, 300, 0}}, {{400, 300, 0}, {300, 400, 0}},
        {{100, 100, 101}, {0, 0, 101}}, {{0, 200, 5000000000}, {0, 200, 5000000000}}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        memcpy(base_fees, cases[i].base_fees, sizeof base_fees);
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
        struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
        assert_memory_equal(ledger.prices_stroops, cases[i].prices, sizeof cases[i].prices);
    }
}

TEST(a_set_with_any_bit_changed_is_not_proved)
{
    for (uint32_t version = 0; version <= 2; version++) {
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(version);
        struct buf bytes CLEANUP(buf_free) = meta_build(&fixture->meta);
        size_t set = 0, decoded = 0;
        while (memcmp(bytes.data + set, fixture->set.data, fixture->set.len) != 0)
            set++;
        for (size_t bit = set * 8; bit < (set + fixture->set.len) * 8; bit++) {
            struct ledger ledger;
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
            if (ledger_decode(buf_bytes(&bytes), &network, &ledger, NULL) == ERR_OK) {
                decoded++;
                assert_true(ledger.hash_proved && ledger.results_proved);
                assert_false(ledger.set_proved);
            }
            ledger_free(&ledger);
            bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_true(decoded > fixture->set.len);
    }
}

TEST(the_hash_of_another_set_in_the_header_proves_nothing)
{
    struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
    fixture->meta.set_hash.bytes[31] ^= 1;
    assert_false(proved(fixture));
}

/* All hashes are right in these, so that only the comparison can find them. */
TEST(results_of_other_transactions_than_the_sets_are_not_proved)
{
    const struct hash other = {{9}};
    struct fixture *fixture = fixture_new(2);
    assert_true(proved(fixture));
    fixture->meta.transaction_count--;
    assert_false(proved(fixture)); /* a transaction without a result */
    fixture->meta.transaction_count = SENT_COUNT + 1;
    fixture->results[SENT_COUNT] = (struct test_transaction){.real_hash = &other};
    assert_false(proved(fixture)); /* a result without a transaction */
    fixture->results[SENT_COUNT] = fixture->results[0];
    assert_false(proved(fixture)); /* two results of one transaction */
    fixture->meta.transaction_count = SENT_COUNT;
    fixture->results[1] = fixture->results[0];
    assert_false(proved(fixture)); /* the same, in place of another's */
    fixture_free(&fixture);
    fixture = fixture_new(2);
    fixture->results[2].code = 1; /* an inner result of a transaction that is not a fee bump */
    assert_false(proved(fixture));
    fixture_free(&fixture);
}

/* One transaction, many times: such a set is read, and no results can prove it. */
TEST(a_large_set_is_read_whole)
{
    struct fixture *fixture CLEANUP(fixture_free) = fixture_new(0);
    struct buf hashed CLEANUP(buf_free) = {0};
    fixture->set.len = 0;
    add_key(&fixture->set, 0xee);
    add_key(&hashed, 0xee);
    buf_add_u32(&fixture->set, 200);
    for (size_t i = 0; i < 200; i++) {
        buf_add_bytes(&fixture->set, buf_bytes(&sent[0].envelope));
        buf_add_bytes(&hashed, buf_bytes(&sent[0].envelope));
    }
    fixture->meta.set = buf_bytes(&fixture->set);
    fixture->meta.set_hash = sha256(buf_bytes(&hashed));
    fixture->meta.transactions = (struct test_transaction[]){{.real_hash = &sent[0].hash}};
    fixture->meta.transaction_count = 1;
    assert_false(proved(fixture));
}

TEST(transactions_are_proved_for_their_network_only)
{
    const struct network_id other = {{7, 7, 8}};
    struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
    struct ledger ledger = decode(fixture, &other);
    assert_false(ledger.set_proved);
    ledger_free(&ledger);
    ledger = decode(fixture, NULL);
    assert_false(ledger.set_proved);
    ledger_free(&ledger);
}

/* CAP-83: the value of such a ledger names no set, and nothing is applied. */
TEST(a_ledger_that_drops_its_transactions_is_proved_only_without_any)
{
    for (uint32_t version = 0; version <= 2; version++) {
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(version);
        memset(&fixture->meta.set_hash, 0, sizeof fixture->meta.set_hash);
        assert_false(proved(fixture));
        buf_free(&fixture->set);
        struct hash hash;
        fixture->set = build_set(version, true, &hash);
        fixture->meta.set = buf_bytes(&fixture->set);
        assert_false(proved(fixture));
        fixture->meta.transaction_count = 0;
        assert_true(proved(fixture));
        fixture->meta.set_hash = hash; /* an empty set that was agreed on */
        assert_true(proved(fixture));
        fixture->meta.set_hash.bytes[0] ^= 1;
        assert_false(proved(fixture));
    }
}

TEST(only_a_result_of_the_inner_transaction_consumes_its_sequence_number)
{
    static const struct {
        int32_t code, inner_code;
        bool fee_bump, plain;
    } cases[] = {
        {.code = 0, .inner_code = 0, .fee_bump = true, .plain = true},
        {.code = -1, .inner_code = -1, .fee_bump = true, .plain = true},
        {.code = -6, .inner_code = -6, .fee_bump = true, .plain = true},
        {.code = -5, .inner_code = -5}, /* txBAD_SEQ */
        {.code = -3, .inner_code = -3}, /* txTOO_LATE */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
        fixture->results[0].code = cases[i].inner_code == 0 ? 1 : -13;
        fixture->results[0].inner_code = cases[i].inner_code;
        fixture->results[1].code = -11; /* txINTERNAL_ERROR of the fee bump itself */
        fixture->results[2].code = cases[i].code;
        struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
        assert_true(ledger.set_proved);
        assert_int_equal(ledger.transactions[0].consumed, cases[i].fee_bump);
        assert_false(ledger.transactions[1].consumed);
        assert_int_equal(ledger.transactions[1].source.bytes[0], 0xa3);
        assert_int_equal(ledger.transactions[2].consumed, cases[i].plain);
    }
}

/* ---- operations */

enum {
    CREATE_ACCOUNT = 0,
    PAYMENT = 1,
    SET_OPTIONS = 5,
    ACCOUNT_MERGE = 8,
    MANAGE_DATA = 10,
    BUMP_SEQUENCE = 11,
    END_SPONSORING = 17,
};

/* An operation with this source (0: none of its own), whose target is account `to`. */
static void add_operation(struct buf *out, uint32_t kind, uint8_t source, uint8_t to)
{
    buf_add_u32(out, source != 0);
    if (source != 0)
        add_source(out, source, source & 1); /* some are muxed */
    buf_add_u32(out, kind);
    if (kind == CREATE_ACCOUNT || kind == PAYMENT || kind == ACCOUNT_MERGE)
        add_source(out, to, false);
    switch (kind) {
    case CREATE_ACCOUNT:
        add_words(out, 2, 0); /* starting balance */
        return;
    case PAYMENT:
        add_words(out, 3, 0); /* native asset, amount */
        return;
    case SET_OPTIONS:
        add_words(out, 9, 0);
        return;
    case MANAGE_DATA:
        buf_add_u32(out, 4);
        buf_add_u32(out, 0x61626364);
        buf_add_u32(out, 0);
        return;
    case BUMP_SEQUENCE:
        buf_add_u64(out, 99);
        return;
    default:
        return;
    }
}

/* Sets the operations of sent[2], a fee bump, and of sent[0]; NULL: none again. */
static void set_operations(const struct buf *operations, uint32_t count)
{
    for (size_t i = 0; i <= 2; i += 2) {
        sent[i].operations = operations != NULL ? buf_bytes(operations) : (struct bytes){0};
        sent[i].operation_count = count;
        buf_free(&sent[i].envelope);
        sent_build(&sent[i]);
    }
}

static void assert_deed(
    const struct ledger_operation *operation, uint32_t transaction, enum ledger_deed deed, uint8_t account)
{
    assert_int_equal(operation->transaction, transaction);
    assert_int_equal(operation->deed, deed);
    assert_int_equal(operation->account.bytes[0], account);
    assert_int_equal(operation->account.bytes[31], account);
}

/* Transaction 1 of the results is sent[2], transaction 2 is sent[0]. */
static const struct {
    uint32_t kind;
    enum ledger_deed deed;
} kinds[] = {{PAYMENT, DEED_OTHER}, {SET_OPTIONS, DEED_OTHER}, {ACCOUNT_MERGE, DEED_MERGED},
    {MANAGE_DATA, DEED_OTHER}, {BUMP_SEQUENCE, DEED_OTHER}, {END_SPONSORING, DEED_ENDED_SPONSORING}};

TEST(each_operation_of_a_transaction_that_succeeded_names_its_source_and_not_its_target)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        for (uint8_t source = 0xc0; source <= 0xc1; source++) {
            struct buf operations CLEANUP(buf_free) = {0};
            add_operation(&operations, kinds[i].kind, source, 0xdd);
            set_operations(&operations, 1);
            struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
            struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
            assert_true(ledger.set_proved);
            assert_int_equal(ledger.operation_count, 2);
            assert_deed(&ledger.operations[0], 1, kinds[i].deed, source);
            assert_deed(&ledger.operations[1], 2, kinds[i].deed, source);
        }
    set_operations(NULL, 0);
}

TEST(an_operation_without_a_source_has_that_of_its_innermost_transaction)
{
    struct buf operations CLEANUP(buf_free) = {0};
    add_operation(&operations, SET_OPTIONS, 0, 0);
    set_operations(&operations, 1);
    for (uint32_t version = 0; version <= 2; version++) {
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(version);
        struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
        assert_int_equal(ledger.operation_count, 2);
        assert_deed(&ledger.operations[0], 1, DEED_OTHER, 0xa3);
        assert_deed(&ledger.operations[1], 2, DEED_OTHER, 0xa1);
    }
    set_operations(NULL, 0);
}

/* The call of a contract's function without arguments. */
static void add_call(struct buf *out)
{
    buf_add_u32(out, 0);
    buf_add_u32(out, 1); /* the address of a contract */
    add_key(out, 0xcc);
    buf_add_u32(out, 1);
    buf_add(out, "f\0\0", 4);
    buf_add_u32(out, 0);
}

/* An InvokeHostFunction with this source (0: none) and one entry: of the source account, or by address. */
static void add_invocation(struct buf *out, uint8_t source, bool by_address)
{
    add_operation(out, 24, source, 0);
    add_call(out);
    buf_add_u32(out, 1);
    buf_add_u32(out, by_address);
    if (by_address) {
        buf_add_u32(out, 1);
        add_key(out, 0xc5);
        add_words(out, 3, 0); /* nonce, expiration */
        buf_add_u32(out, 1);  /* void */
    }
    add_call(out);
    buf_add_u32(out, 0);
}

/* The lease of a user who has signed entries is such a call. One that uses the source's authority, or that
 * names a source, is no lease. */
TEST(a_call_that_entries_by_address_authorize_is_no_deed_of_its_transactions_source)
{
    static const struct {
        uint8_t source;
        bool by_address;
        size_t deeds;
    } cases[] = {{0, true, 0}, {0, false, 2}, {0xc0, true, 2}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf operations CLEANUP(buf_free) = {0};
        add_invocation(&operations, cases[i].source, cases[i].by_address);
        set_operations(&operations, 1);
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
        struct ledger ledger CLEANUP(ledger_free) = decode(fixture, &network);
        assert_true(ledger.set_proved);
        assert_int_equal(ledger.operation_count, cases[i].deeds);
    }
    set_operations(NULL, 0);
}

TEST(a_creation_names_its_source_and_the_account_and_repetitions_are_left_out)
{
    struct buf operations CLEANUP(buf_free) = {0};
    add_operation(&operations, CREATE_ACCOUNT, 0xc1, 0xd1);
    add_operation(&operations, MANAGE_DATA, 0xc1, 0);
    add_operation(&operations, MANAGE_DATA, 0xc1, 0);
    set_operations(&operations, 3);
    struct fixture *fixture = fixture_new(1);
    struct ledger ledger = decode(fixture, &network);
    assert_int_equal(ledger.operation_count, 6);
    assert_deed(&ledger.operations[0], 1, DEED_OTHER, 0xc1);
    assert_deed(&ledger.operations[1], 1, DEED_CREATED, 0xd1);
    assert_deed(&ledger.operations[2], 1, DEED_OTHER, 0xc1);
    assert_deed(&ledger.operations[3], 2, DEED_OTHER, 0xc1);
    ledger_free(&ledger);
    fixture_free(&fixture);
    set_operations(NULL, 0);
}

/* Operations that failed did nothing. */
TEST(a_transaction_that_failed_or_is_not_proved_has_no_operations)
{
    static const int32_t codes[] = {-1, -5, -6, -8, -11, -14};
    struct buf operations CLEANUP(buf_free) = {0};
    add_operation(&operations, SET_OPTIONS, 0xc1, 0);
    set_operations(&operations, 1);
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fixture *fixture CLEANUP(fixture_free) = fixture_new(2);
        fixture->results[1].code = -13;
        fixture->results[1].inner_code = fixture->results[2].code = codes[i];
        struct ledger ledger = decode(fixture, &network);
        assert_true(ledger.set_proved);
        assert_int_equal(ledger.operation_count, 0);
        ledger_free(&ledger);
        ledger = decode(fixture, NULL);
        assert_int_equal(ledger.operation_count, 0);
        ledger_free(&ledger);
    }
    set_operations(NULL, 0);
}

GROUP_FIXTURE(build_all, free_all)
