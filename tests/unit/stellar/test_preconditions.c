/* H12: the client's preconditions are checked. */
#include "check.h"
#include "judge.h"

static void assert_preconditions(struct sample_v2 v2, enum err expected, const char *words)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, 3);
    set_v2(&sample, v2);
    if (expected == ERR_OK)
        NAMES(&sample, 3);
    else
        assert_refused(&sample, expected, words);
}

TEST(H12_conditions_on_the_clients_sequence_are_refused)
{
    /* Refused when present, even 0, which every account meets. */
    assert_preconditions((struct sample_v2){.min_sequence = true}, ERR_INVALID_TRANSACTION, "minSeqNum");
    assert_preconditions((struct sample_v2){.min_sequence = true, .min_sequence_number = 5},
        ERR_INVALID_TRANSACTION, "minSeqNum");
    assert_preconditions((struct sample_v2){.min_sequence_age_s = 1}, ERR_INVALID_TRANSACTION, "minSeqAge");
    assert_preconditions(
        (struct sample_v2){.min_sequence_age_s = UINT64_MAX}, ERR_INVALID_TRANSACTION, "minSeqAge");
    assert_preconditions(
        (struct sample_v2){.min_sequence_ledger_gap = 1}, ERR_INVALID_TRANSACTION, "minSeqLedgerGap");
    assert_preconditions((struct sample_v2){0}, ERR_OK, NULL);
}

TEST(ledger_bounds_that_admit_no_ledger_are_refused)
{
    assert_preconditions((struct sample_v2){.ledgers = true, .min_ledger = 10, .max_ledger = 10},
        ERR_INVALID_TRANSACTION, "ledger bounds");
    assert_preconditions(
        (struct sample_v2){.ledgers = true, .min_ledger = 9, .max_ledger = 10}, ERR_OK, NULL);
    assert_preconditions((struct sample_v2){.ledgers = true, .min_ledger = 10}, ERR_OK, NULL);
}

TEST(extra_signers_are_such_that_somebody_can_be_and_differ)
{
    enum {
        ED25519,
        PRE_AUTH_TX,
        HASH_X,
        SIGNED_PAYLOAD
    };
    static const struct {
        uint32_t count, kinds[2], payload_len;
        const char *refused; /* NULL: accepted */
    } cases[] = {
        {1, {ED25519}, 0, NULL},
        {1, {PRE_AUTH_TX}, 0, "no transaction contains its own hash"},
        {1, {HASH_X}, 0, NULL},
        {1, {SIGNED_PAYLOAD}, 1, NULL},
        {1, {SIGNED_PAYLOAD}, 0, "payload of an extra signer is empty"},
        {2, {ED25519, HASH_X}, 0, NULL},
        {2, {HASH_X, HASH_X}, 0, "two extra signers are the same"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_free) struct buf signers = {0};
        for (uint32_t k = 0; k < cases[i].count; k++) {
            buf_add_u32(&signers, cases[i].kinds[k]);
            add_key(&signers, 3);
            if (cases[i].kinds[k] == SIGNED_PAYLOAD) {
                buf_add_u32(&signers, cases[i].payload_len);
                buf_add(&signers, "a\0\0", 4 * (size_t)cases[i].payload_len);
            }
        }
        assert_preconditions((struct sample_v2){.signer_count = cases[i].count, .signers = &signers},
            cases[i].refused == NULL ? ERR_OK : ERR_INVALID_TRANSACTION, cases[i].refused);
    }
}
