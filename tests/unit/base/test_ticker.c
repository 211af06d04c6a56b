/* Rules of base/ticker.h: functions are called until they are removed, and never after that. */
#include "check.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/ticker.h"
#include "slowness.h"

#define PATIENCE_MS 5000

struct counter {
    atomic_int calls;
    atomic_bool runs;
    int takes_ms;
    atomic_bool rests;
};

static bool count(void *context)
{
    struct counter *counter = context;
    atomic_store(&counter->runs, true);
    clock_sleep_ms(counter->takes_ms);
    atomic_fetch_add(&counter->calls, 1);
    atomic_store(&counter->runs, false);
    return !atomic_load(&counter->rests);
}

static void await_calls(struct counter *counter, int calls)
{
    for (const int64_t end_ms = clock_ms() + slower(PATIENCE_MS); atomic_load(&counter->calls) < calls;) {
        assert_true(clock_left_ms(end_ms) > 0);
        clock_sleep_ms(5);
    }
}

TEST(each_function_is_called_until_it_is_removed)
{
    struct counter first = {0}, second = {0};
    ticker_add(count, &first);
    ticker_add(count, &second);
    await_calls(&first, 3);
    await_calls(&second, 3);
    ticker_remove(&first);
    const int removed = atomic_load(&first.calls), calls = atomic_load(&second.calls);
    await_calls(&second, calls + 3);
    assert_int_equal(atomic_load(&first.calls), removed);
    ticker_remove(&second);
}

TEST(a_call_that_runs_has_ended_when_the_function_is_removed)
{
    struct counter slow = {.takes_ms = 100};
    ticker_add(count, &slow);
    for (const int64_t end_ms = clock_ms() + slower(PATIENCE_MS); !atomic_load(&slow.runs); clock_sleep_ms(1))
        assert_true(clock_left_ms(end_ms) > 0);
    ticker_remove(&slow);
    assert_false(atomic_load(&slow.runs));
    assert_true(atomic_load(&slow.calls) > 0);
}

TEST(nothing_is_called_while_none_watches_until_it_is_woken)
{
    struct counter counter = {.rests = true};
    ticker_add(count, &counter);
    await_calls(&counter, 1);
    clock_sleep_ms(200); /* a call may have been due */
    const int calls = atomic_load(&counter.calls);
    clock_sleep_ms(500);
    assert_int_equal(atomic_load(&counter.calls), calls);
    ticker_wake();
    await_calls(&counter, calls + 1);
    atomic_store(&counter.rests, false);
    ticker_wake();
    await_calls(&counter, calls + 5);
    ticker_remove(&counter);
}
