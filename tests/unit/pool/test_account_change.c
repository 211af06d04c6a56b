/* Which changes may be made, for every state of an account and every result of a probe. */
#include "check.h"

#include <string.h>

#include "base/mem.h"
#include "pool/account_change.h"

struct combination {
    struct account_locked row;
    struct account_probe probe;
};

struct verdict {
    enum err e;
    bool changes;
    enum account_state state;
    struct detail detail;
};

static struct verdict judge(
    enum account_change change, const struct account_locked *row, const struct account_probe *probe)
{
    struct verdict verdict = {0};
    verdict.e = account_change_judge(change, row, probe, &verdict.state, &verdict.detail);
    verdict.changes = verdict.state != row->state;
    return verdict;
}

/* The n-th combination of a state and a probe. */
static bool next_combination(unsigned n, struct combination *out)
{
    if (n >= (ACCOUNT_QUARANTINED + 1) << 5)
        return false;
    *out = (struct combination){
        .row = {.state = (enum account_state)(n >> 5), .leased = n & 1, .grants_on_hold = n & 16},
        .probe = {.oldest = 90,
            .ledger = 90,
            .account = {.sequence = 7, .removed = !(n & 2), .own_authority = n & 4, .bare = true},
            .frozen = n & 8}};
    return true;
}

static bool usable(const struct account_probe *probe)
{
    return !probe->account.removed && probe->account.own_authority && !probe->frozen;
}

TEST(only_a_usable_account_that_is_quarantined_or_was_to_be_created_is_released)
{
    struct combination given;
    for (unsigned n = 0; next_combination(n, &given); n++) {
        struct verdict verdict = judge(CHANGE_RELEASE, &given.row, &given.probe);
        bool may = given.row.state == ACCOUNT_QUARANTINED || given.row.state == ACCOUNT_CREATING;
        if (may && usable(&given.probe)) {
            assert_int_equal(verdict.e, ERR_OK);
            assert_true(verdict.changes);
            assert_int_equal(verdict.state, ACCOUNT_ACTIVE);
            assert_non_null(strstr(verdict.detail.text, "sequence 7 as of ledger 90"));
            assert_int_equal(strstr(verdict.detail.text, "open lease") != NULL, given.row.leased);
            continue;
        }
        assert_false(verdict.changes);
        assert_int_equal(verdict.e, given.row.state == ACCOUNT_ACTIVE ? ERR_OK : ERR_REFUSED);
        assert_true(verdict.detail.text[0] != '\0');
    }
}

TEST(only_an_account_that_can_be_merged_becomes_retiring)
{
    struct combination given;
    for (unsigned n = 0; next_combination(n, &given); n++) {
        struct verdict verdict = judge(CHANGE_RETIRE, &given.row, &given.probe);
        bool may = given.row.state == ACCOUNT_ACTIVE || given.row.state == ACCOUNT_QUARANTINED;
        bool retiring = verdict.changes && verdict.state == ACCOUNT_RETIRING;
        assert_int_equal(retiring, may && usable(&given.probe));
        assert_int_equal(retiring && verdict.e != ERR_OK, false);
        if (given.row.state == ACCOUNT_RETIRING && !given.probe.account.removed)
            assert_int_equal(verdict.e, usable(&given.probe) ? ERR_OK : ERR_REFUSED);
        assert_true(verdict.detail.text[0] != '\0');
    }
}

TEST(Z6_a_missing_account_is_retired_only_without_a_lease_and_after_two_probes)
{
    struct combination given;
    for (unsigned n = 0; next_combination(n, &given); n++) {
        struct verdict first = judge(CHANGE_RETIRE_IF_FOUND, &given.row, &given.probe);
        struct verdict retire = judge(CHANGE_RETIRE, &given.row, &given.probe);
        bool retired = given.row.state == ACCOUNT_RETIRED;
        bool creating = given.row.state == ACCOUNT_CREATING;
        bool waits = !retired && given.probe.account.removed &&
                     (given.row.leased || (creating && given.row.grants_on_hold));
        bool gone = !retired && given.probe.account.removed && !waits;
        assert_int_equal(retire.changes && retire.state == ACCOUNT_RETIRED, gone);
        assert_int_equal(first.e == ERR_NOT_FOUND, gone);
        assert_false(gone && first.changes);
        assert_true(gone || (first.e == retire.e && first.state == retire.state));
        if (waits || (creating && !given.probe.account.removed))
            assert_int_equal(retire.e, ERR_NOT_YET);
    }
}

TEST(an_account_comes_back_only_if_all_but_its_sequence_number_is_as_before)
{
    const struct account_locked moved = {.state = ACCOUNT_QUARANTINED, .moved = true, .sequence = 7};
    const struct account_probe same = {.account = {.sequence = 7, .own_authority = true, .bare = true}};
    struct combination refused[] = {{moved, same}, {moved, same}, {moved, same}, {moved, same}, {moved, same},
        {moved, same}, {moved, same}, {moved, same}};
    refused[0].row.moved = false; /* another reason */
    refused[1].row.leased = true;
    refused[2].row.grants_on_hold = true;
    refused[3].row.sequence = 6;
    refused[4].probe.account.own_authority = false;
    refused[5].probe.account.bare = false;
    refused[6].probe.account.removed = true;
    refused[7].probe.frozen = true;
    assert_int_equal(judge(CHANGE_RETURN, &moved, &same).state, ACCOUNT_ACTIVE);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        const struct verdict verdict = judge(CHANGE_RETURN, &refused[i].row, &refused[i].probe);
        assert_false(verdict.changes);
        assert_int_equal(verdict.e, ERR_REFUSED);
    }
}

TEST(each_refusal_names_its_reason)
{
    static const struct {
        struct account_probe probe;
        const char *words;
    } cases[] = {
        {{.account.removed = true}, "no such account"},
        {{0}, "remove its other signers"},
        {{.account.own_authority = true}, "it has trustlines"},
        {{.account = {.own_authority = true, .bare = true}, .frozen = true}, "frozen"},
    };
    const struct account_locked row = {.state = ACCOUNT_QUARANTINED};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct verdict release = judge(CHANGE_RELEASE, &row, &cases[i].probe);
        assert_int_equal(release.e, ERR_REFUSED);
        assert_non_null(strstr(release.detail.text, cases[i].words));
    }
}
