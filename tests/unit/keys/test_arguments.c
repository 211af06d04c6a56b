/* All that limits keyd is on its command line, and an argument that is missing or altered is refused. */
#include <limits.h>
#include <string.h>

#include "check.h"
#include "base/mem.h"
#include "keys/arguments.h"

#define WORDS 16

static struct arguments sample(void)
{
    return (struct arguments){.mode = KEYD_PROVISION,
        .socket_fd = 7,
        .secrets = {{8, -1, 1023, -1, -1}},
        .settings = {.budget = {20, INT64_MAX},
            .limits = {.base_fee_stroops = UINT32_MAX, .max_resource_fee_stroops = 5},
            .max_lease_fee_stroops = INT64_MAX,
            .max_bump_fee_stroops = 1,
            .network = {{1, 2, 0xff}},
            .has_distribution = true,
            .distribution = {{3, 4}}},
        .json_log = true};
}

TEST(what_is_written_is_read)
{
    struct arguments given = sample(), got;
    char line[ARGUMENTS_SIZE];
    for (int bare = 0; bare < 2; bare++) {
        arguments_write(&given, line);
        assert_true(arguments_read(line, &got));
        assert_int_equal(got.mode, given.mode);
        assert_int_equal(got.socket_fd, given.socket_fd);
        assert_memory_equal(&got.secrets, &given.secrets, sizeof got.secrets);
        assert_int_equal(
            got.settings.budget.signatures_per_second, given.settings.budget.signatures_per_second);
        assert_int_equal(
            got.settings.budget.fee_stroops_per_hour, given.settings.budget.fee_stroops_per_hour);
        assert_int_equal(got.settings.limits.base_fee_stroops, given.settings.limits.base_fee_stroops);
        assert_int_equal(
            got.settings.limits.max_resource_fee_stroops, given.settings.limits.max_resource_fee_stroops);
        assert_int_equal(got.settings.max_lease_fee_stroops, given.settings.max_lease_fee_stroops);
        assert_int_equal(got.settings.max_bump_fee_stroops, given.settings.max_bump_fee_stroops);
        assert_int_equal(got.settings.has_distribution, given.settings.has_distribution);
        assert_memory_equal(&got.settings.network, &given.settings.network, sizeof got.settings.network);
        assert_memory_equal(
            &got.settings.distribution, &given.settings.distribution, sizeof got.settings.distribution);
        assert_int_equal(got.json_log, given.json_log);
        given =
            (struct arguments){.socket_fd = 3, .secrets = {{-1, -1, -1, -1, -1}}, .settings.budget = {20, 0}};
    }
}

/* Writes the sample with this word in the place of one of its words, and reads it. */
static bool reads_with(size_t place, const char *word)
{
    const struct arguments given = sample();
    struct arguments got;
    char line[ARGUMENTS_SIZE], changed[2 * ARGUMENTS_SIZE] = "", *rest = NULL;
    arguments_write(&given, line);
    size_t i = 0;
    for (char *at = strtok_r(line, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest), i++) {
        strcat(changed, i > 0 ? " " : "");
        strcat(changed, i == place ? word : at);
    }
    strcat(changed, place == i ? word : "");
    return arguments_read(changed, &got);
}

TEST(each_argument_is_required)
{
    for (size_t left_out = 0; left_out < WORDS; left_out++)
        assert_false(reads_with(left_out, ""));
    assert_true(reads_with(WORDS + 1, ""));
    assert_false(reads_with(WORDS, " json-log=1"));
    assert_false(reads_with(WORDS, " "));
}

TEST(a_value_in_another_form_is_refused)
{
    static const char *const wrong[] = {"socket=", "socket", "sock=7", "7", "passphrase=x",
        "distribution-seed=-0", "signatures-per-second=4294967296", "fees-per-hour=9223372036854775808",
        "base-fee=-1", "base-fee=4294967296", "max-bump-fee=01", "max-bump-fee=1 ", "json-log=2",
        "json-log=", "network=", "network=any", "network=00", "distribution=", "distribution=GAAA",
        "provision ", "provisions", "a-mode-that-is-too-long", ""};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        for (size_t at = 0; at < WORDS; at++)
            if (reads_with(at, wrong[i]))
                fail_msg("\"%s\" as argument %zu", wrong[i], at);
}
