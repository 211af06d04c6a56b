#include "start_report.h"

#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "pool/pool_counts.h"
#include "version.h"

/* Without NUM_CHANNEL_ACCOUNTS, a pool smaller than the default is no problem: warns only if the option is
 * set, or if no account is active. */
static void compare_pool(const struct config *config, int64_t active)
{
    const uint64_t wanted = config_number(config, "NUM_CHANNEL_ACCOUNTS");
    if ((uint64_t)active >= wanted)
        return;
    const bool is_default = !config_is_given(config, "NUM_CHANNEL_ACCOUNTS");
    log_line(is_default && active > 0 ? LOG_INFO : LOG_WARN,
        "fewer channel accounts are active than NUM_CHANNEL_ACCOUNTS; fairway ensure-accounts creates them",
        "active=%" PRId64 " NUM_CHANNEL_ACCOUNTS=%" PRIu64, active, wanted);
}

void start_report(const struct config *config, const struct pool_access *access)
{
    AUTO_FREE char *changes = config_changes(config);
    struct pool_counts counts = {0};
    struct detail detail;
    const bool counted = pool_counts_read(access->db, &counts, &detail) == ERR_OK;
    log_info("started", "version=%s commit=%s network=\"%s\" active_accounts=%" PRId64 " options=\"%s\"",
        version_text(), version_commit(), access->passphrase, counted ? counts.active : -1, changes);
    if (counted)
        compare_pool(config, counts.active);
}
