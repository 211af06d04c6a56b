/* Rules of charged.h. */

#include "check.h"
#include "base/bytes.h"
#include "charged.h"

/* The hash of a transaction in this set of the table. */
static struct hash hash_of(uint32_t set, uint32_t number)
{
    struct hash hash = {{0}};
    be32_put(hash.bytes, set);
    be32_put(hash.bytes + 28, number);
    return hash;
}

/* Charges a bid as handle_sign.c does; returns what it cost. */
static int64_t charge(struct charged *charged, struct hash hash, int64_t fee_stroops)
{
    const int64_t missing = charged_missing(charged, &hash, fee_stroops);
    charged_note(charged, &hash, fee_stroops);
    return missing;
}

TEST(of_the_bids_for_a_transaction_the_highest_is_charged)
{
    struct charged *charged = charged_new();
    const struct hash one = hash_of(7, 1), other = hash_of(7, 2);
    assert_int_equal(charged_missing(charged, &one, 100), 100);
    assert_int_equal(charged_missing(charged, &one, 100), 100); /* asking charges nothing */
    assert_int_equal(charge(charged, one, 100), 100);
    assert_int_equal(charge(charged, one, 100), 0);
    assert_int_equal(charge(charged, one, 150), 50);
    assert_int_equal(charge(charged, one, 1), 0); /* and does not make the next one dearer */
    assert_int_equal(charge(charged, one, 150), 0);
    assert_int_equal(charge(charged, other, 150), 150);
    assert_int_equal(charge(charged, one, INT64_MAX), INT64_MAX - 150);
    charged_free(charged);
}

TEST(a_transaction_is_known_by_its_whole_hash)
{
    for (size_t i = 0; i < sizeof(struct hash); i++) {
        struct charged *charged = charged_new();
        struct hash one = hash_of(0, 0), other = one;
        other.bytes[i] ^= 1;
        assert_int_equal(charge(charged, one, 100), 100);
        assert_int_equal(charge(charged, other, 100), 100);
        charged_free(charged);
    }
}

TEST(the_one_that_was_remembered_first_is_forgotten_and_charged_in_full)
{
    struct charged *charged = charged_new();
    for (uint32_t i = 0; i < CHARGED_WAYS; i++)
        assert_int_equal(charge(charged, hash_of(3, i), 100), 100);
    assert_int_equal(charge(charged, hash_of(3, 0), 100), 0);
    assert_int_equal(charge(charged, hash_of(3 + CHARGED_SETS, 0), 100), 100); /* the same set */
    assert_int_equal(charge(charged, hash_of(4, 0), 100), 100);                /* another one */
    for (uint32_t i = 1; i < CHARGED_WAYS; i++)
        assert_int_equal(charge(charged, hash_of(3, i), 100), 0);
    assert_int_equal(charge(charged, hash_of(3, 0), 100), 100);
    charged_free(charged);
}

/* A captured fairway bids on more transactions than the table holds, in any order: what it could spend on
 * each, the highest bid, is never more than what was charged for it. */
TEST(what_can_be_spent_is_never_more_than_what_was_charged)
{
    enum {
        TRANSACTIONS = 3 * CHARGED_WAYS,
        BIDS = 100000
    };
    struct charged *charged = charged_new();
    int64_t highest[TRANSACTIONS] = {0}, total[TRANSACTIONS] = {0};
    uint64_t random = 20261122;
    for (int i = 0; i < BIDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const uint32_t at = (uint32_t)(random >> 33) % TRANSACTIONS;
        const int64_t fee = 1 + (int64_t)(random >> 40) % 1000;
        total[at] += charge(charged, hash_of(0, at), fee);
        if (fee > highest[at])
            highest[at] = fee;
        assert_true(highest[at] <= total[at]);
    }
    charged_free(charged);
}
