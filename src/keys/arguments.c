/* Writes and reads keyd's command line. No secret is ever on it. */
#include "keys/arguments.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define FD_MAX 1023
#define UNSET "any"

/* The order on the command line, after the mode. All are required. */
enum {
    SOCKET,
    MASTER_KEY,
    PASSPHRASE,
    DISTRIBUTION_SEED,
    SEEDS,
    OLD_KEY,
    SIGNATURES_PER_SECOND,
    FEES_PER_HOUR,
    BASE_FEE,
    MAX_RESOURCE_FEE,
    MAX_LEASE_FEE,
    MAX_BUMP_FEE,
    JSON_LOG,
    NUMBERS
};
static const struct number {
    const char *name;
    int64_t min, max;
} numbers[NUMBERS] = {
    [SOCKET] = {"socket", 3, FD_MAX},
    [MASTER_KEY] = {"master-key", -1, FD_MAX}, /* -1: not given */
    [PASSPHRASE] = {"passphrase", -1, FD_MAX},
    [DISTRIBUTION_SEED] = {"distribution-seed", -1, FD_MAX},
    [SEEDS] = {"seeds", -1, FD_MAX},
    [OLD_KEY] = {"old-key", -1, FD_MAX},
    [SIGNATURES_PER_SECOND] = {"signatures-per-second", KEYD_SIGNATURES_PER_SECOND_MIN, UINT32_MAX},
    [FEES_PER_HOUR] = {"fees-per-hour", 0, INT64_MAX},
    [BASE_FEE] = {"base-fee", 0, UINT32_MAX},
    [MAX_RESOURCE_FEE] = {"max-resource-fee", 0, INT64_MAX},
    [MAX_LEASE_FEE] = {"max-lease-fee", 0, INT64_MAX},
    [MAX_BUMP_FEE] = {"max-bump-fee", 0, INT64_MAX},
    [JSON_LOG] = {"json-log", 0, 1},
};
enum {
    PROGRAM,
    MODE,
    FIRST_NUMBER,
    NETWORK = FIRST_NUMBER + NUMBERS,
    DISTRIBUTION,
    COUNT
};
_Static_assert(COUNT == ARGUMENTS_MAX, "a text for each argument");

static const char *const modes[KEYD_MODES] = {[KEYD_SERVE] = "serve",
    [KEYD_PROVISION] = "provision",
    [KEYD_IMPORT] = "import",
    [KEYD_ROTATE] = "rotate"};

void arguments_write(const struct arguments *arguments, struct arguments_text *out)
{
    const struct keyd_settings *settings = &arguments->settings;
    const int64_t values[NUMBERS] = {[SOCKET] = arguments->socket_fd,
        [MASTER_KEY] = arguments->secrets.master_key_fd,
        [PASSPHRASE] = arguments->secrets.passphrase_fd,
        [DISTRIBUTION_SEED] = arguments->secrets.distribution_fd,
        [SEEDS] = arguments->secrets.seeds_fd,
        [OLD_KEY] = arguments->secrets.old_key_fd,
        [SIGNATURES_PER_SECOND] = settings->budget.signatures_per_second,
        [FEES_PER_HOUR] = settings->budget.fee_stroops_per_hour,
        [BASE_FEE] = settings->limits.base_fee_stroops,
        [MAX_RESOURCE_FEE] = settings->limits.max_resource_fee_stroops,
        [MAX_LEASE_FEE] = settings->max_lease_fee_stroops,
        [MAX_BUMP_FEE] = settings->max_bump_fee_stroops,
        [JSON_LOG] = arguments->json_log};
    char network[HASH_HEX_SIZE], distribution[ADDRESS_SIZE] = UNSET;
    hex_encode(settings->network.bytes, sizeof settings->network.bytes, network);
    if (settings->has_distribution)
        address_encode(&settings->distribution, distribution);
    snprintf(out->text[PROGRAM], ARGUMENT_SIZE, "fairway-keyd");
    snprintf(out->text[MODE], ARGUMENT_SIZE, "%s", modes[arguments->mode]);
    for (size_t i = 0; i < NUMBERS; i++)
        snprintf(out->text[FIRST_NUMBER + i], ARGUMENT_SIZE, "%s=%" PRId64, numbers[i].name, values[i]);
    snprintf(out->text[NETWORK], ARGUMENT_SIZE, "network=%s", network);
    snprintf(out->text[DISTRIBUTION], ARGUMENT_SIZE, "distribution=%s", distribution);
    for (size_t i = 0; i < COUNT; i++)
        out->argv[i] = out->text[i];
    out->argv[COUNT] = NULL;
}

/* Returns what follows NAME=, or NULL. */
static const char *value_of(const char *argument, const char *name)
{
    const size_t len = strlen(name);
    return strncmp(argument, name, len) == 0 && argument[len] == '=' ? argument + len + 1 : NULL;
}

static bool read_mode(const char *text, enum keyd_mode *out)
{
    for (*out = KEYD_SERVE; *out < KEYD_MODES; (*out)++)
        if (text_equal(text, modes[*out]))
            return true;
    return false;
}

static bool read_numbers(char *const argv[], int64_t values[static NUMBERS])
{
    for (size_t i = 0; i < NUMBERS; i++) {
        const char *text = value_of(argv[i], numbers[i].name);
        if (text_to_i64(text, &values[i]) != ERR_OK || values[i] < numbers[i].min ||
            values[i] > numbers[i].max)
            return false;
    }
    return true;
}

static bool read_network(const char *argument, struct keyd_settings *out)
{
    const char *text = value_of(argument, "network");
    return text != NULL &&
           hex_decode(text, strlen(text), out->network.bytes, sizeof out->network.bytes) == ERR_OK;
}

static bool read_distribution(const char *argument, struct keyd_settings *out)
{
    const char *text = value_of(argument, "distribution");
    out->has_distribution = text != NULL && !text_equal(text, UNSET);
    return text != NULL && (!out->has_distribution || address_decode(text, &out->distribution) == ERR_OK);
}

bool arguments_read(int argc, char *const argv[], struct arguments *out)
{
    int64_t values[NUMBERS];
    *out = (struct arguments){0};
    if (argc != COUNT || !read_mode(argv[MODE], &out->mode) || !read_numbers(argv + FIRST_NUMBER, values) ||
        !read_network(argv[NETWORK], &out->settings) ||
        !read_distribution(argv[DISTRIBUTION], &out->settings))
        return false;
    out->socket_fd = (int)values[SOCKET];
    out->secrets = (struct keyd_secrets){(int)values[MASTER_KEY], (int)values[PASSPHRASE],
        (int)values[DISTRIBUTION_SEED], (int)values[SEEDS], (int)values[OLD_KEY]};
    out->settings.budget =
        (struct keyd_budget){(uint32_t)values[SIGNATURES_PER_SECOND], values[FEES_PER_HOUR]};
    out->settings.limits = (struct policy_limits){
        .base_fee_stroops = (uint32_t)values[BASE_FEE], .max_resource_fee_stroops = values[MAX_RESOURCE_FEE]};
    out->settings.max_lease_fee_stroops = values[MAX_LEASE_FEE];
    out->settings.max_bump_fee_stroops = values[MAX_BUMP_FEE];
    out->json_log = values[JSON_LOG] != 0;
    return true;
}
