/* Writes and reads keyd's command line. No secret is ever on it. */
#include "keys/arguments.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define UNSET "any"

/* For printf and scanf. */
#define FORMAT(mode, network, distribution)                                                                  \
    mode " socket=%d master-key=%d passphrase=%d distribution-seed=%d seeds=%d old-key=%d"                   \
         " signatures-per-second=%" PRIu32 " fees-per-hour=%" PRId64 " base-fee=%" PRIu32                    \
         " max-resource-fee=%" PRId64 " max-lease-fee=%" PRId64 " max-bump-fee=%" PRId64 " json-log=%d"      \
         " network=" network " distribution=" distribution
#define FIELDS 16

static const char *const modes[KEYD_MODES] = {[KEYD_SERVE] = "serve",
    [KEYD_PROVISION] = "provision",
    [KEYD_IMPORT] = "import",
    [KEYD_ROTATE] = "rotate"};

void arguments_write(const struct arguments *arguments, char out[static ARGUMENTS_SIZE])
{
    const struct keyd_settings *settings = &arguments->settings;
    const int *const fd = arguments->secrets.fd;
    char network[HASH_HEX_SIZE], distribution[ADDRESS_SIZE] = UNSET;
    hex_encode(settings->network.bytes, sizeof settings->network.bytes, network);
    if (settings->has_distribution)
        address_encode(&settings->distribution, distribution);
    snprintf(out, ARGUMENTS_SIZE, FORMAT("%s", "%s", "%s"), modes[arguments->mode], arguments->socket_fd,
        fd[SECRET_MASTER_KEY], fd[SECRET_PASSPHRASE], fd[SECRET_DISTRIBUTION], fd[SECRET_SEEDS],
        fd[SECRET_OLD_KEY], settings->budget.signatures_per_second, settings->budget.fee_stroops_per_hour,
        settings->limits.base_fee_stroops, settings->limits.max_resource_fee_stroops,
        settings->max_lease_fee_stroops, settings->max_bump_fee_stroops, (int)arguments->json_log, network,
        distribution);
}

/* What is read is written again, so each value has one form, and nothing precedes or follows them. */
bool arguments_read(const char *line, struct arguments *out)
{
    *out = (struct arguments){0};
    struct keyd_settings *settings = &out->settings;
    int *const fd = out->secrets.fd, json_log;
    char mode[10], network[HASH_HEX_SIZE], distribution[ADDRESS_SIZE], again[ARGUMENTS_SIZE];
    if (sscanf(line, FORMAT("%9s", "%64s", "%56s"), mode, &out->socket_fd, &fd[SECRET_MASTER_KEY],
            &fd[SECRET_PASSPHRASE], &fd[SECRET_DISTRIBUTION], &fd[SECRET_SEEDS], &fd[SECRET_OLD_KEY],
            &settings->budget.signatures_per_second, &settings->budget.fee_stroops_per_hour,
            &settings->limits.base_fee_stroops, &settings->limits.max_resource_fee_stroops,
            &settings->max_lease_fee_stroops, &settings->max_bump_fee_stroops, &json_log, network,
            distribution) != FIELDS)
        return false;
    while (out->mode < KEYD_MODES && !text_equal(mode, modes[out->mode]))
        out->mode++;
    out->json_log = json_log == 1;
    settings->has_distribution = !text_equal(distribution, UNSET);
    if (out->mode == KEYD_MODES ||
        hex_decode(network, strlen(network), settings->network.bytes, sizeof settings->network.bytes) !=
            ERR_OK ||
        (settings->has_distribution && address_decode(distribution, &settings->distribution) != ERR_OK))
        return false;
    arguments_write(out, again);
    return text_equal(line, again);
}
