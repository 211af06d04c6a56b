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

static int refuses_ms(struct address *address)
{
    return address_state(address).refuses_ms;
}

/* Its rest is over, and the last simulation long ago. */
static void rested(struct address *address)
{
    address->refuses_until_ms = clock_ms();
    address->turn_ms = 0;
}

TEST(a_url_is_one_address)
{
    assert_ptr_equal(address_of("http://one"), address_of("http://one"));
    assert_ptr_not_equal(address_of("http://one"), address_of("http://two"));
}

TEST(one_that_fails_is_asked_after_others_and_one_that_is_avoided_last)
{
    struct address *address = one();
    assert_int_equal(address_state(address).rank, 0);
    address_note(address, ADDRESS_FAILS, clock_ms(), 0);
    const unsigned failed = address_state(address).rank;
    assert_int_equal(refuses_ms(address), 0);
    assert_true(failed > address_state(address_of("http://two")).rank);
    address_forget();
    address->avoided = true;
    assert_true(address_state(address).rank > failed);
    address->avoided = false;
    assert_int_equal(address_state(address).rank, 0);
}

TEST(one_that_refuses_rests_for_as_long_as_it_says)
{
    struct address *address = one();
    address_note(address, ADDRESS_REFUSES, clock_ms(), 20);
    assert_true(address_state(address).rank > 0);
    assert_in_range(refuses_ms(address), 10000, 20000);
    address_note(address, ADDRESS_REFUSES, clock_ms(), INT64_MAX);
    assert_in_range(refuses_ms(address), 200000, 300000);
}

/* The refusals of calls that were under way count once. */
TEST(without_a_word_it_rests_for_a_moment_doubling_to_half_a_minute)
{
    static const int rests_ms[] = {250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    struct address *address = one();
    for (size_t i = 0; i < ARRAY_LEN(rests_ms); i++) {
        rested(address);
        for (int n = 0; n < 3; n++)
            address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
        assert_in_range(refuses_ms(address), rests_ms[i] / 2, rests_ms[i]);
    }
    address_note(address, ADDRESS_WORKS, clock_ms(), 0); /* it began before the rest was over */
    assert_int_equal(address->gap_ms, 30000);
}

TEST(after_a_rest_simulations_begin_one_at_a_time_and_faster_with_each_answer)
{
    struct address *address = one();
    for (int n = 0; n < 8; n++) {
        rested(address);
        address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    }
    assert_false(address_take_turn(address));
    rested(address);
    assert_true(address_take_turn(address));
    assert_false(address_take_turn(address));
    assert_in_range(refuses_ms(address), 15000, 30000);
    address_note(address, ADDRESS_WORKS, clock_ms(), 0);
    assert_in_range(refuses_ms(address), 400, 875);
    address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    assert_in_range(refuses_ms(address), 875, 1750);
    rested(address);
    for (int n = 0; n < 50; n++)
        address_note(address, ADDRESS_WORKS, clock_ms(), 0);
    assert_true(address_take_turn(address) && address_take_turn(address));
}

/* What it refused long ago does not count, also when nobody has had a simulation from it since. */
TEST(a_refusal_after_a_long_time_is_the_first_one)
{
    struct address *address = one();
    assert_false(address_state(address).is_scarce);
    for (int i = 0; i < 6; i++) {
        rested(address);
        address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    }
    assert_true(address_state(address).is_scarce);
    address->refuses_until_ms = clock_ms() - 60000;
    assert_false(address_state(address).is_scarce);
    address_note(address, ADDRESS_REFUSES, clock_ms(), 0);
    assert_in_range(refuses_ms(address), 100, 250);
}
