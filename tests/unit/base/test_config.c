/* Rules of base/config.h: flags override the environment, numbers have bounds, secrets have no flag. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "base/config.h"
#include "base/mem.h"

static const struct config_option options[] = {
    {"LISTEN", CONFIG_TEXT, NULL, "where", 0, 0},
    {"NUM_CHANNEL_ACCOUNTS", CONFIG_NUMBER, "15", "how many", 1, 100},
    {"PRIVATE_KEY", CONFIG_SECRET, NULL, "secret", 0, 0},
    {"STATE", CONFIG_FLAG, NULL, "which", 0, 0},
    {"AUDIENCE", CONFIG_SWITCH, "on", "whether", 0, 0},
    {"DRY_RUN", CONFIG_FLAG_SWITCH, NULL, "changes nothing", 0, 0},
    {"RPC_URL", CONFIG_URL, NULL, "where", 0, 0},
    {"PERIOD", CONFIG_DURATION, "6", "how long", 100, 60000},
};

static enum err load(struct config **config, struct detail *detail, int argc, char **argv)
{
    return config_load(options, ARRAY_LEN(options), argc, argv, config, detail);
}
#define LOAD(config, detail, ...)                                                                            \
    load((config), (detail), (int)ARRAY_LEN(((char *[]){"fairway", __VA_ARGS__})),                           \
        (char *[]){"fairway", __VA_ARGS__, NULL})

static int clean_environment(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        unsetenv(options[i].name);
    unsetenv("RPC_URL_FILE");
    return 0;
}

TEST_WITH(a_flag_overrides_the_environment, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    setenv("LISTEN", "from environment", 1);
    assert_int_equal(LOAD(&config, &detail, "10"), ERR_OK);
    assert_string_equal(config_text(config, "LISTEN"), "from environment");
    assert_int_equal(config_number(config, "NUM_CHANNEL_ACCOUNTS"), 15);
    assert_int_equal(config_argument_count(config), 1);
    assert_string_equal(config_argument(config, 0), "10");
    config_free(config);
    assert_int_equal(LOAD(&config, &detail, "--listen", "a", "--num-channel-accounts=7"), ERR_OK);
    assert_string_equal(config_text(config, "LISTEN"), "a");
    assert_int_equal(config_number(config, "NUM_CHANNEL_ACCOUNTS"), 7);
    config_free(config);
}

TEST_WITH(a_flag_only_option_has_no_environment_variable, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    setenv("STATE", "California", 1);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_OK);
    assert_null(config_text(config, "STATE"));
    config_free(config);
    assert_int_equal(LOAD(&config, &detail, "--state", "idle"), ERR_OK);
    assert_string_equal(config_text(config, "STATE"), "idle");
    config_free(config);
}

TEST_WITH(a_switch_is_on_or_off_and_nothing_else, clean_environment, NULL)
{
    static const struct {
        const char *text;
        bool on;
    } words[] = {{"on", true}, {"ON", true}, {"yes", true}, {"true", true}, {"1", true}, {"off", false},
        {"Off", false}, {"no", false}, {"false", false}, {"0", false}};
    struct config *config;
    struct detail detail;
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_OK);
    assert_true(config_is_on(config, "AUDIENCE"));
    assert_false(config_is_on(config, "DRY_RUN"));
    config_free(config);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        setenv("AUDIENCE", words[i].text, 1);
        assert_int_equal(LOAD(&config, &detail, "--"), ERR_OK);
        assert_int_equal(config_is_on(config, "AUDIENCE"), words[i].on);
        config_free(config);
    }
    setenv("AUDIENCE", "nope", 1);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_CONFIG);
    assert_string_equal(detail.text, "AUDIENCE must be on or off, not \"nope\"");
}

TEST_WITH(a_duration_is_in_seconds_with_decimals_or_in_milliseconds, clean_environment, NULL)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } durations[] = {{"6", 6000}, {"0.6", 600}, {"600ms", 600}, {"0.125", 125}, {"1.5", 1500}, {"60", 60000},
        {"60000ms", 60000}, {"0.1", 100}};
    static const char *const wrong[] = {"0.099", "99ms", "61", "60.001", "60001ms", "0", "-1", "1.", ".6",
        "0.1234", "0.6ms", "6s", "ms", "1e1", " 6", "6 ", "99999999999999999999"};
    struct config *config;
    struct detail detail;
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_OK);
    assert_int_equal(config_ms(config, "PERIOD"), 6000);
    config_free(config);
    for (size_t i = 0; i < ARRAY_LEN(durations); i++) {
        setenv("PERIOD", durations[i].text, 1);
        assert_int_equal(LOAD(&config, &detail, "--"), ERR_OK);
        assert_int_equal(config_ms(config, "PERIOD"), durations[i].ms);
        config_free(config);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        setenv("PERIOD", wrong[i], 1);
        if (LOAD(&config, &detail, "--") != ERR_CONFIG)
            fail_msg("\"%s\" is accepted", wrong[i]);
    }
    setenv("PERIOD", "0.05", 1);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_CONFIG);
    assert_string_equal(
        detail.text, "PERIOD must be from 0.1 to 60 seconds, or in milliseconds (600ms), not \"0.05\"");
}

TEST_WITH(a_flag_switch_needs_no_value_and_takes_one_only_after_an_equals_sign, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    setenv("DRY_RUN", "on", 1);
    assert_int_equal(LOAD(&config, &detail, "--dry-run=off"), ERR_OK);
    assert_false(config_is_on(config, "DRY_RUN"));
    config_free(config);
    assert_int_equal(LOAD(&config, &detail, "--dry-run", "5"), ERR_OK);
    assert_true(config_is_on(config, "DRY_RUN"));
    assert_string_equal(config_argument(config, 0), "5");
    config_free(config);
    assert_int_equal(LOAD(&config, &detail, "--dry-run=5"), ERR_CONFIG);
}

TEST_WITH(
    changes_are_the_options_that_differ_from_their_defaults_without_urls_and_secrets, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    setenv("PRIVATE_KEY", "SECRET", 1);
    setenv("RPC_URL", "http://user:password@host/", 1);
    assert_int_equal(LOAD(&config, &detail, "--num-channel-accounts=15", "--state", "idle"), ERR_OK);
    AUTO_FREE char *changes = config_changes(config);
    assert_string_equal(changes, "STATE=idle RPC_URL=(set)");
    assert_true(config_is_given(config, "NUM_CHANNEL_ACCOUNTS"));
    assert_false(config_is_given(config, "AUDIENCE"));
    config_free(config);
}

TEST_WITH(unknown_flags_and_values_out_of_range_are_named, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    static char *const bad[][2] = {{"--num-channel-accounts=0", "NUM_CHANNEL_ACCOUNTS"},
        {"--num-channel-accounts=101", "NUM_CHANNEL_ACCOUNTS"},
        {"--num-channel-accounts=1x", "NUM_CHANNEL_ACCOUNTS"},
        {"--num-channel-account=1", "--num-channel-account"}, {"--listen", "--listen"}, {"-x", "-x"}};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(LOAD(&config, &detail, bad[i][0]), ERR_CONFIG);
        assert_non_null(strstr(detail.text, bad[i][1]));
    }
}

TEST_WITH(a_secret_has_no_flag, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    assert_int_equal(LOAD(&config, &detail, "--private-key=S"), ERR_CONFIG);
}

TEST_WITH(a_url_has_no_flag_and_the_refusal_does_not_repeat_it, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    assert_int_equal(LOAD(&config, &detail, "--rpc-url=http://user:password@host/"), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "RPC_URL is no flag"));
    assert_null(strstr(detail.text, "password@"));
}

TEST_WITH(a_url_may_be_in_a_file_that_only_its_owner_can_read, clean_environment, NULL)
{
    struct config *config;
    struct detail detail;
    char path[] = "/tmp/fairway-url-XXXXXX";
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, "http://user:password@host/\n", 27), 27);
    setenv("RPC_URL_FILE", path, 1);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_OK);
    assert_string_equal(config_text(config, "RPC_URL"), "http://user:password@host/");
    config_free(config);
    setenv("RPC_URL", "http://host/", 1);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_CONFIG);
    assert_string_equal(detail.text, "give RPC_URL or RPC_URL_FILE, not both");
    unsetenv("RPC_URL");
    fchmod(fd, 0644);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "is accessible to other users"));
    fchmod(fd, 0600);
    assert_int_equal(ftruncate(fd, 5000), 0);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "is longer than 4096 bytes"));
    close(fd);
    unlink(path);
    assert_int_equal(LOAD(&config, &detail, "--"), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "RPC_URL_FILE: cannot read /tmp/fairway-url-"));
}

TEST(a_variable_that_is_like_an_option_has_a_likely_name)
{
    static const struct config_option some[] = {
        {NULL, CONFIG_TEXT, NULL, "a section", 0, 0},
        {"LOG_LEVEL", CONFIG_TEXT, NULL, "", 0, 0},
        {"PORT", CONFIG_NUMBER, NULL, "", 0, 1},
        {"DATABASE_URL", CONFIG_URL, NULL, "", 0, 0},
        {"MASTER_KEY_FILE", CONFIG_SECRET, NULL, "", 0, 0},
        {"OLD_MASTER_KEY_FILE", CONFIG_SECRET, NULL, "", 0, 0},
        {"AUDIENCE", CONFIG_FLAG, NULL, "", 0, 0},
    };
    static const char *const cases[][2] = {
        {"LOG_LEVLE", "LOG_LEVEL"},
        {"LOG_LEVL", "LOG_LEVEL"},
        {"LOG_LEVELS", "LOG_LEVEL"},
        {"LOGLEVEL", "LOG_LEVEL"},
        {"LOG-LEVEL", "LOG_LEVEL"},
        {"XLOG_LEVEL", "LOG_LEVEL"},
        {"DATABASE_URI", "DATABASE_URL"},
        {"DATABSE_URL_FILE", "DATABASE_URL"},
        {"MASTER_KEY_FIEL", "MASTER_KEY_FILE"},
        {"LOG_LEVEL", NULL},
        {"DATABASE_URL", NULL},
        {"DATABASE_URL_FILE", NULL},
        {"MASTER_KEY_FILE", NULL},
        {"OLD_MASTER_KEY_FILE", NULL},
        {"log_level", NULL},
        {"LOG_FILE", NULL},
        {"LOG_LEVEL_OF_ANOTHER", NULL},
        {"DATABASE_NAME", NULL},
        {"SORT", NULL},
        {"PATH", NULL},
        {"AUDIENCES", NULL},
        {"PGHOST", NULL},
        {"PGPASSFILE", NULL},
        {"HTTP_PROXY", NULL},
        {"FAIRWAY_PORT", NULL},
        {"FAIRWAY_SECRET_PIPES", NULL},
        {"_", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *likely = config_likely(some, ARRAY_LEN(some), cases[i][0]);
        if (cases[i][1] == NULL)
            assert_null(likely);
        else {
            assert_non_null(likely);
            assert_string_equal(likely, cases[i][1]);
        }
    }
}
