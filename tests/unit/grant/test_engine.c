/* What a refused ticket tells its submitter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine_state.h"

static unsigned calls;

static void done(struct engine_ticket *ticket)
{
    assert_int_equal(ticket->grant.state, GRANT_REFUSED);
    calls++;
}

/* A batch that was rolled back may have refused the ticket before, for another reason. */
static void a_refusal_without_a_detail_clears_an_earlier_one(void **state)
{
    (void)state;
    struct engine_ticket ticket = {.done = done};
    engine_refuse(&ticket, ERR_INTERNAL, &(struct detail){"an earlier reason"});
    assert_string_equal(ticket.grant.detail.text, "an earlier reason");
    engine_refuse(&ticket, ERR_CHANNEL_ACCOUNT_UNAVAILABLE, NULL);
    assert_int_equal(ticket.grant.error, ERR_CHANNEL_ACCOUNT_UNAVAILABLE);
    assert_string_equal(ticket.grant.detail.text, "");
    assert_int_equal(calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refusal_without_a_detail_clears_an_earlier_one),
    };
    return cmocka_run_group_tests_name("grant/engine", tests, NULL, NULL);
}
