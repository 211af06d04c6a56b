/* What the distribution account can spend, and what that allows. Nothing here reads the network. */
#include "pool/funds.h"

#include <inttypes.h>

/* What stellar-core lets the account pay as fees: its balance less its reserves and selling liabilities. The
 * numbers are what an RPC answered: none of them may cause an overflow. */
static int64_t spendable(const struct funds *funds)
{
    int64_t kept, left;
    if (__builtin_mul_overflow(funds->reserves, funds->base_reserve_stroops, &kept) ||
        __builtin_sub_overflow(funds->balance_stroops, kept, &left) ||
        __builtin_sub_overflow(left, funds->selling_stroops, &left))
        return 0;
    return left > 0 ? left : 0;
}

bool funds_take(
    struct funds *funds, const struct account_entry *read, uint32_t ledger, int64_t base_reserve_stroops)
{
    if (!funds->bound || !public_key_equal(&read->key, &funds->account))
        return false;
    funds->known = true;
    funds->ledger = ledger;
    funds->balance_stroops = read->removed ? 0 : read->balance_stroops;
    funds->reserves = read->removed ? 0 : read->reserves;
    funds->selling_stroops = read->removed ? 0 : read->selling_stroops;
    funds->base_reserve_stroops = base_reserve_stroops;
    funds->spendable_stroops = spendable(funds);
    funds->cannot_sign = read->cannot_sign;
    return true;
}

int64_t funds_spendable(const struct funds *funds)
{
    return !funds->known ? FUNDS_NOT_KNOWN : funds->cannot_sign ? FUNDS_NO_SIGNER : funds->spendable_stroops;
}

int64_t funds_payments(const struct funds *funds, const struct funds_limits *limits)
{
    return limits->payment_stroops > 0 ? funds->spendable_stroops / limits->payment_stroops : INT64_MAX;
}

enum funds_level funds_level(const struct funds *funds, const struct funds_limits *limits)
{
    if (!funds->known)
        return FUNDS_UNKNOWN;
    if (funds->cannot_sign)
        return FUNDS_CANNOT_SIGN;
    const int64_t payments = funds_payments(funds, limits);
    if (payments < limits->min_payments)
        return FUNDS_TOO_LOW;
    return payments < limits->low_payments ? FUNDS_LOW : FUNDS_OK;
}

/* Its transactions would be answered with txBAD_AUTH. */
static enum err no_signer(struct detail *detail)
{
    return detail_set(detail, ERR_GRANTS_SUSPENDED,
        "the distribution account's own key no longer reaches its thresholds, so it can pay for nothing: "
        "its signers were changed");
}

enum err funds_check_lease(
    int64_t spendable_stroops, const struct funds_limits *limits, struct detail *detail)
{
    const struct funds funds = {
        .known = spendable_stroops != FUNDS_NOT_KNOWN, .spendable_stroops = spendable_stroops};
    if (spendable_stroops == FUNDS_NO_SIGNER)
        return no_signer(detail);
    if (funds_level(&funds, limits) != FUNDS_TOO_LOW)
        return ERR_OK;
    return detail_set(detail, ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED,
        "the distribution account can spend " XLM_FORMAT ", %" PRId64
        " payments; MIN_BALANCE_PAYMENTS is %" PRId64 ": fund it",
        XLM(spendable_stroops), funds_payments(&funds, limits), limits->min_payments);
}

enum err funds_check_bump(int64_t spendable_stroops, int64_t fee_stroops, struct detail *detail)
{
    if (spendable_stroops == FUNDS_NO_SIGNER)
        return no_signer(detail);
    if (spendable_stroops == FUNDS_NOT_KNOWN || fee_stroops <= spendable_stroops)
        return ERR_OK;
    return detail_set(detail, ERR_DISTRIBUTION_ACCOUNT_UNDERFUNDED,
        "the distribution account can spend " XLM_FORMAT ", the fee bump costs " XLM_FORMAT ": fund it",
        XLM(spendable_stroops), XLM(fee_stroops));
}

const char funds_sql[] =
    "SELECT n.distribution_account, f.ledger, f.balance, f.reserves, f.selling_liabilities, f.base_reserve,"
    " f.spendable, f.cannot_sign FROM (VALUES (1)) AS one LEFT JOIN fairway.network n ON true"
    " LEFT JOIN fairway.funds f ON true";

enum err funds_read(const struct db_rows *rows, struct funds *out, struct detail *detail)
{
    *out = (struct funds){.bound = !db_is_null(rows, 0, 0), .known = !db_is_null(rows, 0, 1)};
    if (out->bound && address_decode(db_text(rows, 0, 0), &out->account) != ERR_OK)
        return detail_set(
            detail, ERR_INTERNAL, "the distribution account in the database is not a valid address");
    if (!out->known)
        return ERR_OK;
    out->ledger = (uint32_t)db_i64(rows, 0, 1);
    out->balance_stroops = db_i64(rows, 0, 2);
    out->reserves = db_i64(rows, 0, 3);
    out->selling_stroops = db_i64(rows, 0, 4);
    out->base_reserve_stroops = db_i64(rows, 0, 5);
    out->spendable_stroops = db_i64(rows, 0, 6);
    out->cannot_sign = db_bool(rows, 0, 7);
    return ERR_OK;
}

static const char sql_write[] = "SELECT fairway.write_funds($1, $2, $3, $4, $5, $6, $7)";

enum err funds_write(struct db *db, const struct funds *funds, struct detail *detail)
{
    return db_query(db,
        DB_SQL(sql_write, DB_I64(funds->ledger), DB_I64(funds->balance_stroops), DB_I64(funds->reserves),
            DB_I64(funds->selling_stroops), DB_I64(funds->base_reserve_stroops),
            DB_I64(funds->spendable_stroops), DB_BOOL(funds->cannot_sign)),
        NULL, detail);
}
