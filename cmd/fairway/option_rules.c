#include "option_rules.h"

#include <inttypes.h>

#include "base/text.h"

/*
 * The fee bump of a transaction with one operation pays FEE_BUMP_BASE_FEE for two. BASE_FEE is the rate that
 * the inner transaction offers; it is not charged, but the fee bump's rate must not be lower (CAP-15).
 */
static enum err check_fees(const struct config *config, struct detail *detail)
{
    const uint64_t base = config_number(config, "BASE_FEE"),
                   bump = config_number(config, "FEE_BUMP_BASE_FEE"), max = config_number(config, "MAX_FEE");
    if (base > bump)
        return detail_set(detail, ERR_CONFIG,
            "BASE_FEE=%" PRIu64 " is above FEE_BUMP_BASE_FEE=%" PRIu64
            ": the rate of a fee bump must not be lower (CAP-15). Set BASE_FEE to at most %" PRIu64
            " (100 is enough) or raise FEE_BUMP_BASE_FEE",
            base, bump, bump);
    if (2 * bump > max)
        return detail_set(detail, ERR_CONFIG,
            "MAX_FEE=%" PRIu64 " allows no fee bump: at FEE_BUMP_BASE_FEE=%" PRIu64
            " one costs at least %" PRIu64
            ". Set MAX_FEE to at least that or FEE_BUMP_BASE_FEE to at most %" PRIu64,
            max, bump, 2 * bump, max / 2);
    return ERR_OK;
}

static enum err check_balance_limits(const struct config *config, struct detail *detail)
{
    const uint64_t low = config_number(config, "LOW_BALANCE_PAYMENTS"),
                   min = config_number(config, "MIN_BALANCE_PAYMENTS");
    if (low < min)
        return detail_set(detail, ERR_CONFIG,
            "LOW_BALANCE_PAYMENTS=%" PRIu64 " is below MIN_BALANCE_PAYMENTS=%" PRIu64
            ": leases would be refused before the warning. Raise the first or lower the second",
            low, min);
    return ERR_OK;
}

static enum err check_ingestion(const struct config *config, struct detail *detail)
{
    const uint64_t poll_ms = config_number(config, "INGEST_POLL_MS"),
                   ledger_s = config_number(config, "LEDGER_SECONDS");
    if (poll_ms > ledger_s * 1000)
        return detail_set(detail, ERR_CONFIG,
            "INGEST_POLL_MS=%" PRIu64 " is longer than LEDGER_SECONDS=%" PRIu64
            ": leases would end whole ledgers late. Set INGEST_POLL_MS to at most %" PRIu64
            " or raise LEDGER_SECONDS",
            poll_ms, ledger_s, ledger_s * 1000);
    return ERR_OK;
}

enum err option_rules_check(const struct config *config, struct detail *detail)
{
    enum err e;
    if ((e = check_fees(config, detail)) != ERR_OK || (e = check_balance_limits(config, detail)) != ERR_OK)
        return e;
    return check_ingestion(config, detail);
}
