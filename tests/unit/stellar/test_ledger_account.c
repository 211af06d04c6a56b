/* Rules of stellar/account.h and stellar/result.h. */
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "stellar/account.h"
#include "stellar/result.h"
#include "ledger_meta.h"
#include "xdr/xdr.h"

/* LedgerEntryData of an account with the thresholds (master, low, medium, high) and signers. */
static struct buf account(const uint8_t thresholds[4], uint32_t signers, bool sponsored)
{
    struct buf out = {0};
    add_words(&out, 2, 0); /* account, Ed25519 */
    add_key(&out, 0x11);
    buf_add_u64(&out, 123);
    buf_add_u64(&out, 456);
    buf_add_u32(&out, signers);
    buf_add_u32(&out, 1); /* inflation destination */
    buf_add_u32(&out, 0);
    add_key(&out, 0x22);
    buf_add_u32(&out, 0); /* flags */
    buf_add_u32(&out, 5); /* home domain, with padding */
    buf_add(&out, "a.org\0\0", 8);
    buf_add(&out, thresholds, 4);
    buf_add_u32(&out, signers);
    for (uint32_t i = 0; i < signers; i++) {
        buf_add_u32(&out, 0); /* Ed25519 */
        add_key(&out, 0x33);
        buf_add_u32(&out, 1); /* weight */
    }
    if (!sponsored) {
        buf_add_u32(&out, 0); /* ext */
        return out;
    }
    buf_add_u32(&out, 1);       /* AccountEntryExtensionV1 */
    buf_add_u64(&out, 5);       /* buying liabilities */
    buf_add_u64(&out, 77);      /* selling liabilities */
    buf_add_u32(&out, 2);       /* AccountEntryExtensionV2 */
    buf_add_u32(&out, 1);       /* numSponsored */
    buf_add_u32(&out, 3);       /* numSponsoring */
    buf_add_u32(&out, signers); /* signerSponsoringIDs */
    for (uint32_t i = 0; i < signers; i++) {
        buf_add_u32(&out, 1); /* present */
        buf_add_u32(&out, 0);
        add_key(&out, 0x44);
    }
    buf_add_u32(&out, 0); /* ext */
    return out;
}

static bool own_authority(const uint8_t thresholds[4], uint32_t signers, bool sponsored)
{
    CLEANUP(buf_free) struct buf entry = account(thresholds, signers, sponsored);
    struct account_entry out;
    assert_int_equal(account_entry_decode(buf_bytes(&entry), &out), ERR_OK);
    return out.own_authority;
}

#define OWN(...) own_authority((const uint8_t[]){__VA_ARGS__}, 0, false)

TEST(the_master_key_alone_must_reach_every_threshold)
{
    assert_true(OWN(1, 0, 0, 0));
    assert_true(OWN(1, 1, 1, 1));
    assert_true(OWN(255, 255, 255, 255));
    assert_true(OWN(5, 1, 5, 2));
    /* each threshold on its own, in any order: SetOptions does not sort them */
    assert_false(OWN(1, 2, 1, 1));
    assert_false(OWN(1, 1, 2, 1));
    assert_false(OWN(1, 1, 1, 2));
    /* a weight of 0 never signs, even when every threshold is 0 */
    assert_false(OWN(0, 0, 0, 0));
}

/* A fee bump needs the low threshold alone (CAP-15). */
TEST(a_key_that_reaches_the_low_threshold_pays_for_fee_bumps)
{
    static const struct {
        uint8_t thresholds[4];
        bool cannot_sign;
    } cases[] = {{{1, 0, 0, 0}, false}, {{1, 1, 2, 2}, false}, {{1, 2, 1, 1}, true}, {{0, 0, 0, 0}, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_free) struct buf entry = account(cases[i].thresholds, 1, false);
        struct account_entry out;
        assert_int_equal(account_entry_decode(buf_bytes(&entry), &out), ERR_OK);
        assert_int_equal(out.cannot_sign, cases[i].cannot_sign);
    }
}

TEST(any_other_signer_ends_own_authority)
{
    assert_false(own_authority((const uint8_t[]){1, 0, 0, 0}, 1, false));
    assert_false(own_authority((const uint8_t[]){255, 1, 1, 1}, 20, false));
    assert_false(own_authority((const uint8_t[]){1, 0, 0, 0}, 1, true));
    /* sponsored without signers, as channel accounts are */
    assert_true(own_authority((const uint8_t[]){1, 0, 0, 0}, 0, true));
}

TEST(an_account_entry_gives_its_fields)
{
    CLEANUP(buf_free) struct buf entry = account((const uint8_t[]){1, 0, 0, 0}, 2, true);
    struct account_entry out;
    assert_int_equal(account_entry_decode(buf_bytes(&entry), &out), ERR_OK);
    assert_int_equal(out.key.bytes[31], 0x11);
    assert_int_equal(out.balance_stroops, 123);
    assert_int_equal(out.sequence, 456);
    assert_false(out.removed);
    assert_int_equal(out.reserves, 2 + 2 + 3 - 1); /* two signers, sponsoring 3, sponsored 1 */
    assert_int_equal(out.selling_stroops, 77);
    for (size_t len = 0; len < entry.len; len++)
        assert_int_equal(account_entry_decode((struct bytes){entry.data, len}, &out), ERR_XDR_TRUNCATED);
    buf_add_u32(&entry, 0);
    assert_int_equal(account_entry_decode(buf_bytes(&entry), &out), ERR_XDR_TRAILING);
}

TEST(an_entry_of_another_type_is_refused)
{
    CLEANUP(buf_free) struct buf ttl = {0};
    struct account_entry out;
    buf_add_u32(&ttl, 9);
    add_key(&ttl, 1);
    buf_add_u32(&ttl, 2);
    assert_int_equal(xdr_check(XDR_LedgerEntryData, buf_bytes(&ttl)), ERR_OK);
    assert_int_equal(account_entry_decode(buf_bytes(&ttl), &out), ERR_MALFORMED);
}

TEST(a_ledger_key_is_the_type_and_the_account)
{
    CLEANUP(buf_free) struct buf out = {0};
    struct public_key key;
    memset(key.bytes, 0x5a, sizeof key.bytes);
    account_ledger_key(&key, &out);
    assert_int_equal(xdr_check(XDR_LedgerKey, buf_bytes(&out)), ERR_OK);
    assert_int_equal(out.len, 40);
    assert_int_equal(be64_get(out.data), 0);
    assert_memory_equal(out.data + 8, key.bytes, 32);
}

/* In stellar-core's TransactionFrame, only these codes are set after the sequence number has been consumed.
 */
TEST(DR3_only_codes_set_after_the_sequence_number_was_consumed_prove_it)
{
    static const int32_t consuming[] = {0, -1, -6, -7, -10, -11, -14, -15};
    for (int32_t code = -30; code <= 5; code++) {
        bool expected = false;
        for (size_t i = 0; i < sizeof consuming / sizeof consuming[0]; i++)
            expected = expected || consuming[i] == code;
        assert_int_equal(result_consumes_sequence(code), expected);
    }
}

TEST(every_result_code_of_the_schema_has_its_protocol_name)
{
    static const char *const names[] = {"txFROZEN_KEY_ACCESSED", "txSOROBAN_INVALID", "txMALFORMED",
        "txBAD_MIN_SEQ_AGE_OR_GAP", "txBAD_SPONSORSHIP", "txFEE_BUMP_INNER_FAILED", "txNOT_SUPPORTED",
        "txINTERNAL_ERROR", "txBAD_AUTH_EXTRA", "txINSUFFICIENT_FEE", "txNO_ACCOUNT",
        "txINSUFFICIENT_BALANCE", "txBAD_AUTH", "txBAD_SEQ", "txMISSING_OPERATION", "txTOO_LATE",
        "txTOO_EARLY", "txFAILED", "txSUCCESS", "txFEE_BUMP_INNER_SUCCESS"};
    for (int32_t code = -30; code <= 30; code++) {
        uint8_t word[4];
        be32_put(word, (uint32_t)code);
        bool known = code >= -18 && code <= 1;
        assert_int_equal(xdr_check(XDR_TransactionResultCode, BYTES_OF(word)) == ERR_OK, known);
        if (known)
            assert_string_equal(result_code_name(code), names[code + 18]);
    }
}
