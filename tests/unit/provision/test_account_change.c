/* What an operator may do to an account, for every state that it can be in and everything that can be seen of
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "account_change.h"

static const char *const states[] = {"creating", "active", "retiring", "retired", "quarantined"};

struct seen {
    struct account_change_row row;
    struct account_probe sight;
};

/* Every state with every combination of what is seen; n counts through them. */
static bool next_seen(unsigned n, struct seen *out)
{
    if (n >= ARRAY_LEN(states) << 6)
        return false;
    *out = (struct seen){.row = {.leased = n & 1, .held = n & 32},
        .sight = {.oldest = 90,
            .ledger = 90,
            .sequence = 7,
            .found = n & 2,
            .own_authority = n & 4,
            .frozen = n & 8,
            .opens = n & 16}};
    snprintf(out->row.state, sizeof out->row.state, "%s", states[n >> 6]);
    return true;
}

static bool usable(const struct account_probe *sight)
{
    return sight->found && sight->own_authority && !sight->frozen && sight->opens;
}

static void only_a_quarantined_account_that_can_be_used_is_released(void **state)
{
    (void)state;
    struct seen seen;
    for (unsigned n = 0; next_seen(n, &seen); n++) {
        struct verdict verdict = account_change_judge(CHANGE_RELEASE, &seen.row, &seen.sight);
        bool quarantined = text_equal(seen.row.state, "quarantined");
        if (quarantined && usable(&seen.sight)) {
            assert_int_equal(verdict.e, ERR_OK);
            assert_string_equal(verdict.state, "active");
            assert_non_null(strstr(verdict.detail.text, "sequence 7 as of ledger 90"));
            assert_int_equal(strstr(verdict.detail.text, "open lease") != NULL, seen.row.leased);
            continue;
        }
        assert_null(verdict.state);
        assert_int_equal(verdict.e, text_equal(seen.row.state, "active") ? ERR_OK : ERR_REFUSED);
        assert_true(verdict.detail.text[0] != '\0');
    }
}

static void only_what_can_be_merged_becomes_retiring(void **state)
{
    (void)state;
    struct seen seen;
    for (unsigned n = 0; next_seen(n, &seen); n++) {
        struct verdict verdict = account_change_judge(CHANGE_RETIRE, &seen.row, &seen.sight);
        bool may = text_equal(seen.row.state, "active") || text_equal(seen.row.state, "quarantined");
        bool retiring = verdict.state != NULL && text_equal(verdict.state, "retiring");
        assert_int_equal(retiring, may && usable(&seen.sight));
        assert_int_equal(retiring && verdict.e != ERR_OK, false);
        if (text_equal(seen.row.state, "retiring") && seen.sight.found)
            assert_int_equal(verdict.e, usable(&seen.sight) ? ERR_OK : ERR_REFUSED);
        assert_true(verdict.detail.text[0] != '\0');
    }
}

static void
Z6_an_account_is_retired_only_when_the_network_has_none_no_lease_is_open_and_it_was_looked_for_twice(
    void **state)
{
    (void)state;
    struct seen seen;
    for (unsigned n = 0; next_seen(n, &seen); n++) {
        struct verdict look = account_change_judge(CHANGE_LOOK, &seen.row, &seen.sight);
        struct verdict retire = account_change_judge(CHANGE_RETIRE, &seen.row, &seen.sight);
        bool over = text_equal(seen.row.state, "retired");
        bool creating = text_equal(seen.row.state, "creating");
        bool waits = !over && !seen.sight.found && (seen.row.leased || (creating && seen.row.held));
        bool gone = !over && !seen.sight.found && !waits;
        assert_int_equal(retire.state != NULL && text_equal(retire.state, "retired"), gone);
        assert_int_equal(look.e == ERR_NOT_FOUND, gone);
        if (gone)
            assert_null(look.state);
        else {
            assert_int_equal(look.e, retire.e);
            assert_true(text_equal(look.state, retire.state));
        }
        if (waits || (creating && seen.sight.found))
            assert_int_equal(retire.e, ERR_NOT_YET);
    }
}

static void each_refusal_names_its_reason(void **state)
{
    (void)state;
    static const struct {
        struct account_probe sight;
        const char *words;
    } cases[] = {
        {{.found = false}, "no such account"},
        {{.found = true, .opens = true}, "others can sign for it"},
        {{.found = true, .own_authority = true, .frozen = true, .opens = true}, "frozen"},
        {{.found = true, .own_authority = true}, "seed does not open"},
    };
    const struct account_change_row row = {.state = "quarantined"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verdict release = account_change_judge(CHANGE_RELEASE, &row, &cases[i].sight);
        assert_int_equal(release.e, ERR_REFUSED);
        assert_non_null(strstr(release.detail.text, cases[i].words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_quarantined_account_that_can_be_used_is_released),
        cmocka_unit_test(only_what_can_be_merged_becomes_retiring),
        cmocka_unit_test(
            Z6_an_account_is_retired_only_when_the_network_has_none_no_lease_is_open_and_it_was_looked_for_twice),
        cmocka_unit_test(each_refusal_names_its_reason),
    };
    return cmocka_run_group_tests_name("provision/change", tests, NULL, NULL);
}
