/* The numbers of the advisory locks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lead.h"

static void I1_lock_numbers_are_stable_for_a_network_and_differ_between_networks(void **state)
{
    (void)state;
    struct network_id test = network_id_of("Test SDF Network ; September 2015");
    struct network_id public = network_id_of("Public Global Stellar Network ; September 2015");
    struct lead_locks locks = lead_locks_of(&test), others = lead_locks_of(&public);
    /* SHA-256 of the passphrase begins cee0302d59844d32 bdca915c8203dd44: no release may change these */
    assert_true(locks.session == (int64_t)UINT64_C(0xcee0302d59844d32));
    assert_true(locks.transaction == (int64_t)UINT64_C(0xbdca915c8203dd44));
    assert_true(others.session != locks.session && others.transaction != locks.transaction);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(I1_lock_numbers_are_stable_for_a_network_and_differ_between_networks),
    };
    return cmocka_run_group_tests_name("ingest/lead", tests, NULL, NULL);
}
