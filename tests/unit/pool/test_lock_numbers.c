/* The numbers of the advisory locks, and their names. */
#include "check.h"

#include <string.h>

#include "pool/lock_numbers.h"

TEST(lock_numbers_never_change_and_differ_between_networks)
{
    const struct network_id test = network_id_of("Test SDF Network ; September 2015");
    const struct network_id public = network_id_of("Public Global Stellar Network ; September 2015");
    const struct lock_numbers numbers = lock_numbers_of(&test), others = lock_numbers_of(&public);
    /* SHA-256 of the passphrase begins cee0302d59844d32 bdca915c8203dd44 b33fbb7edc19051e */
    assert_true(numbers.leader == (int64_t)UINT64_C(0xcee0302d59844d32));
    assert_true(numbers.ledger == (int64_t)UINT64_C(0xbdca915c8203dd44));
    assert_true(numbers.provisioning == (int64_t)UINT64_C(0xb33fbb7edc19051e));
    assert_true(others.leader != numbers.leader);
    assert_true(others.ledger != numbers.ledger);
    assert_true(others.provisioning != numbers.provisioning);
}

static const struct lock_name *name_in(const struct lock_name names[], size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].name, name) == 0)
            return &names[i];
    fail_msg("%s has no number", name);
    return NULL;
}

TEST(every_lock_has_a_name_and_those_of_a_network_only_with_its_id)
{
    const struct network_id network = network_id_of("a network");
    const struct lock_numbers numbers = lock_numbers_of(&network);
    struct lock_name names[LOCK_NAMES_MAX];
    assert_int_equal(lock_numbers_names(NULL, names), 4);
    assert_string_equal(name_in(names, 4, "grants")->text, "fairway grants");
    assert_string_equal(name_in(names, 4, "master keys")->text, "fairway master keys");
    assert_string_equal(name_in(names, 4, "housekeeping")->text, "fairway housekeeping");
    assert_string_equal(name_in(names, 4, "migrations")->text, "fairway migrations");
    assert_int_equal(lock_numbers_names(&network, names), LOCK_NAMES_MAX);
    assert_true(name_in(names, LOCK_NAMES_MAX, "ingestion leader")->number == numbers.leader);
    assert_true(name_in(names, LOCK_NAMES_MAX, "ledger transaction")->number == numbers.ledger);
    assert_true(name_in(names, LOCK_NAMES_MAX, "provisioning")->number == numbers.provisioning);
}
