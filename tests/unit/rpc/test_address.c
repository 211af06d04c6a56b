/* Rules of address.h: how long one that has failed or refused is remembered. */
#include "address.h"
#include "base/clock.h"
#include "base/mem.h"
#include "check.h"

static struct address *one(void)
{
    address_forget();
    return address_of("http://one");
}

TEST(a_url_is_one_address)
{
    assert_ptr_equal(address_of("http://one"), address_of("http://one"));
    assert_ptr_not_equal(address_of("http://one"), address_of("http://two"));
}

TEST(one_that_fails_is_asked_last_and_still_for_simulations)
{
    struct address *address = one();
    assert_false(address_is_last(address));
    address_note(address, ADDRESS_FAILS, clock_ms(), 0);
    assert_true(address_is_last(address));
    assert_int_equal(address_refuses_ms(address), 0);
    assert_false(address_is_last(address_of("http://two")));
}

TEST(one_that_refuses_rests_for_as_long_as_it_says)
{
    struct address *address = one();
    address_note(address, ADDRESS_REFUSES, clock_ms(), 20);
    assert_true(address_is_last(address));
    assert_in_range(address_refuses_ms(address), 10000, 20000);
    address_note(address, ADDRESS_REFUSES, clock_ms(), INT64_MAX);
    assert_in_range(address_refuses_ms(address), 200000, 300000);
}

/* The refusals of calls that were under way count once. */
TEST(without_a_word_it_rests_for_a_second_doubling_to_thirty)
{
    static const int rests_ms[] = {1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct address *address = one();
    for (size_t i = 0; i < ARRAY_LEN(rests_ms); i++) {
        address->refuses_until_ms = clock_ms();
        for (int n = 0; n < 3; n++)
            address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
        assert_in_range(address_refuses_ms(address), rests_ms[i] / 2, rests_ms[i]);
    }
    address_note(address, ADDRESS_WORKS, clock_ms(), 0); /* it began before the rest was over */
    assert_in_range(address_refuses_ms(address), 15000, 30000);
    address->refuses_until_ms = clock_ms();
    address_note(address, ADDRESS_WORKS, clock_ms(), 0);
    address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    assert_in_range(address_refuses_ms(address), 500, 1000);
}

/* What it refused long ago does not count, also when nobody has had a simulation from it since. */
TEST(a_refusal_after_a_long_time_is_the_first_one)
{
    struct address *address = one();
    for (int i = 0; i < 6; i++) {
        address->refuses_until_ms = clock_ms();
        address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    }
    address->refuses_until_ms = clock_ms() - 60000;
    address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    assert_in_range(address_refuses_ms(address), 500, 1000);
}
