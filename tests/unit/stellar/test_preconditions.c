/* H12: the client's preconditions are checked. */
#include "check.h"
#include "judge.h"

#define AUTO_SAMPLE CLEANUP(sample_wipe) struct sample
#define AUTO_BUF CLEANUP(buf_free) struct buf

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

TEST_THAT(H12_conditions_on_the_clients_sequence_are_refused)
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

TEST_THAT(min_time_after_max_time_is_refused)
{
    assert_preconditions((struct sample_v2){.times = true, .min_time_s = 11, .max_time_s = 10},
        ERR_INVALID_TRANSACTION, "min time is after its max time");
    assert_preconditions((struct sample_v2){.times = true, .min_time_s = 10, .max_time_s = 10}, ERR_OK, NULL);
    assert_preconditions((struct sample_v2){.times = true, .min_time_s = 10}, ERR_OK, NULL);
}

TEST_THAT(the_same_holds_for_plain_time_bounds)
{
    AUTO_SAMPLE sample = SAMPLE;
    add_payment(&sample, PLAIN, 3);
    set_times(&sample, 11, 10);
    assert_refused(&sample, ERR_INVALID_TRANSACTION, "min time");
    sample.form = ENVELOPE_V0;
    assert_refused(&sample, ERR_INVALID_TRANSACTION, "min time");
    set_times(&sample, 10, 10);
    NAMES(&sample, 3);
}

TEST_THAT(ledger_bounds_that_admit_no_ledger_are_refused)
{
    assert_preconditions((struct sample_v2){.ledgers = true, .min_ledger = 10, .max_ledger = 10},
        ERR_INVALID_TRANSACTION, "ledger bounds");
    assert_preconditions(
        (struct sample_v2){.ledgers = true, .min_ledger = 9, .max_ledger = 10}, ERR_OK, NULL);
    assert_preconditions((struct sample_v2){.ledgers = true, .min_ledger = 10}, ERR_OK, NULL);
}

static void add_signer(struct buf *out, uint32_t kind, uint8_t n)
{
    buf_add_u32(out, kind);
    add_key(out, n);
}

static void add_payload_signer(struct buf *out, uint8_t n, uint32_t payload_len)
{
    add_signer(out, 3, n);
    buf_add_u32(out, payload_len);
    buf_add(out, "abcd", payload_len);
}

TEST_THAT(DA5_keys_of_extra_signers_are_named)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF signers = {0};
    add_payment(&sample, PLAIN, 3);
    add_signer(&signers, 0, 5);
    add_payload_signer(&signers, 4, 4);
    set_v2(&sample, (struct sample_v2){.signer_count = 2, .signers = &signers});
    NAMES(&sample, 3, 4, 5);
}

TEST_THAT(extra_signers_that_are_hashes_name_no_account)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF signers = {0};
    add_payment(&sample, PLAIN, 3);
    add_signer(&signers, 2, 5);
    set_v2(&sample, (struct sample_v2){.signer_count = 1, .signers = &signers});
    NAMES(&sample, 3);
}

TEST_THAT(an_extra_signer_that_nobody_can_be_is_refused)
{
    AUTO_SAMPLE sample = SAMPLE;
    AUTO_BUF signers = {0};
    add_payment(&sample, PLAIN, 3);
    add_signer(&signers, 1, 5);
    set_v2(&sample, (struct sample_v2){.signer_count = 1, .signers = &signers});
    assert_refused(&sample, ERR_INVALID_TRANSACTION, "no transaction contains its own hash");
}

TEST_THAT(extra_signers_that_the_network_calls_malformed_are_refused)
{
    AUTO_SAMPLE twice = SAMPLE, empty = SAMPLE;
    AUTO_BUF same = {0}, nothing = {0};
    add_payment(&twice, PLAIN, 3);
    add_signer(&same, 2, 5);
    add_signer(&same, 2, 5);
    set_v2(&twice, (struct sample_v2){.signer_count = 2, .signers = &same});
    assert_refused(&twice, ERR_INVALID_TRANSACTION, "two extra signers are the same");
    add_payment(&empty, PLAIN, 3);
    add_payload_signer(&nothing, 4, 0);
    set_v2(&empty, (struct sample_v2){.signer_count = 1, .signers = &nothing});
    assert_refused(&empty, ERR_INVALID_TRANSACTION, "payload of an extra signer is empty");
}
