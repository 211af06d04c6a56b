/* Rules of stellar/provisioning_tx.h: the bytes equal the SDK's, and each operation has a source. */
#include "check.h"
#include "stellar/envelope_build.h"
#include "operation.h"
#include "stellar/provisioning_tx.h"
#include "vectors.h"

static void read_accounts(const char *list, struct provisioning_tx *provisioning)
{
    AUTO_FREE char *copy = mem_copy_text(list);
    char *rest = copy;
    for (const char *one; (one = strsep(&rest, ",")) != NULL; provisioning->account_count++)
        assert_int_equal(address_decode(one, &provisioning->accounts[provisioning->account_count]), ERR_OK);
}

static void read_signatures(const char *list, struct signature *signatures)
{
    AUTO_FREE char *copy = mem_copy_text(list);
    char *rest = copy;
    for (const char *one; (one = strsep(&rest, ",")) != NULL; signatures++) {
        CLEANUP(buf_free) struct buf bytes = {0};
        assert_int_equal(base64_decode(one, strlen(one), &bytes), ERR_OK);
        assert_int_equal(bytes.len, sizeof signatures->bytes);
        memcpy(signatures->bytes, bytes.data, sizeof signatures->bytes);
    }
}

static void check_provisioning(struct vectors *vectors)
{
    struct provisioning_tx provisioning = {0};
    provisioning.kind =
        strcmp(vector_text(vectors), "creation") == 0 ? PROVISIONING_CREATION : PROVISIONING_MERGE;
    struct network_id network = network_id_of(vector_text(vectors));
    provisioning.distribution = vector_key(vectors);
    provisioning.sequence = vector_i64(vectors);
    provisioning.fee_stroops = (uint32_t)vector_i64(vectors);
    provisioning.max_time_s = (uint64_t)vector_i64(vectors);
    read_accounts(vector_text(vectors), &provisioning);
    struct hash hash = vector_hash(vectors);
    struct signature signatures[SIGNATURES_MAX];
    read_signatures(vector_text(vectors), signatures);
    CLEANUP(buf_free) struct buf expected = vector_bytes(vectors);

    struct public_key signers[SIGNATURES_MAX] = {provisioning.distribution};
    memcpy(signers + 1, provisioning.accounts, provisioning.account_count * sizeof signers[0]);
    CLEANUP(buf_free) struct buf transaction = {0}, envelope = {0};
    provisioning_tx_build(&provisioning, &transaction);
    assert_same_hash(transaction_hash(&network, buf_bytes(&transaction)), hash);
    envelope_build(buf_bytes(&transaction), signers, signatures, provisioning.account_count + 1, &envelope);
    assert_bytes(buf_bytes(&envelope), buf_bytes(&expected));
}

TEST(DS3_creations_and_merges_are_those_of_the_sdk)
{
    struct vectors vectors;
    size_t count = 0;
    vectors_open(&vectors);
    for (; vectors_next(&vectors, "provisioning"); count++)
        check_provisioning(&vectors);
    vectors_close(&vectors);
    assert_int_equal(count, 6);
}

static enum err expect_source(const struct operation *operation, void *context)
{
    size_t *count = context;
    (*count)++;
    assert_true(operation->has_source);
    assert_false(operation->source_muxed);
    return ERR_OK;
}

TEST(every_operation_has_an_explicit_source)
{
    static const size_t operations[] = {[PROVISIONING_CREATION] = 54, [PROVISIONING_MERGE] = 18};
    for (enum provisioning_kind kind = PROVISIONING_CREATION; kind <= PROVISIONING_MERGE; kind++) {
        struct provisioning_tx provisioning = {
            .kind = kind, .max_time_s = 1, .account_count = PROVISIONING_ACCOUNTS_MAX, .sequence = 1};
        CLEANUP(buf_free) struct buf transaction = {0};
        struct envelope view;
        size_t count = 0;
        provisioning_tx_build(&provisioning, &transaction);
        assert_int_equal(transaction_decode(buf_bytes(&transaction), &view, NULL), ERR_OK);
        assert_int_equal(operation_each(view.operations, expect_source, &count), ERR_OK);
        assert_int_equal(count, operations[kind]);
    }
}
