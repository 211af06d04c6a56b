#include "pool/settle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "transition.h"

/* Which of the ledger's transactions fairway signed, whatever became of their leases since. */
static const char sql_ours[] = "SELECT l.account, l.sequence FROM unnest($1::bytea[]) AS r (hash)"
                               " JOIN fairway.leases l ON l.hash = r.hash ORDER BY l.account COLLATE \"C\"";

static const char sql_settle[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $3, result_code = r.code,"
    " result = CASE r.code WHEN 'txSUCCESS' THEN 'confirmed' ELSE 'failed' END"
    " FROM unnest($1::bytea[], $2::text[]) AS r (hash, code)"
    " WHERE l.hash = r.hash AND l.settled_at IS NULL RETURNING l.account, l.result";

/* Locked, so that no lease is granted on them between this look and the commit. Grants skip locked rows: no
 * deadlock. */
static const char sql_touched[] =
    "SELECT n.ordinal - 1, a.state, a.sequence, a.sequence_ledger"
    " FROM unnest($1::text[]) WITH ORDINALITY AS n (public_key, ordinal)"
    " JOIN fairway.channel_accounts a ON a.public_key = n.public_key"
    " WHERE a.state <> 'retired' ORDER BY a.public_key COLLATE \"C\" FOR UPDATE OF a";

/* An open lease whose sequence number is gone can never be included. */
static const char sql_supersede[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $3, result = 'superseded'"
    " FROM unnest($1::text[], $2::int8[]) AS n (account, sequence)"
    " WHERE l.account = n.account AND l.settled_at IS NULL AND l.sequence <= n.sequence RETURNING l.account, "
    "l.result";

/* Max time strictly below the close time is safe for every protocol (CAP-88); max ledger is exclusive
 * (CAP-21). */
static const char sql_expire[] =
    "UPDATE fairway.leases l SET settled_at = clock_timestamp(), ledger = $1, result = 'expired'"
    " WHERE l.settled_at IS NULL AND (l.max_time < $2 OR l.max_ledger <= $1 + 1) RETURNING l.account, "
    "l.result";

static const char sql_release[] =
    "UPDATE fairway.channel_accounts a SET lease_hash = NULL, locked_at = NULL, locked_until = NULL"
    " WHERE a.public_key = ANY ($1::text[])";

/* One update a row: the state after the ledger, and the end of its lease if it had one. Ledger 0: still
 * unknown. */
static const char sql_mirror[] =
    "UPDATE fairway.channel_accounts a SET state = n.state,"
    " sequence = CASE n.sequence_ledger WHEN 0 THEN NULL ELSE n.sequence END,"
    " sequence_ledger = nullif(n.sequence_ledger, 0),"
    " slot = CASE n.state WHEN 'retired' THEN NULL ELSE a.slot END,"
    " quarantine_reason = coalesce(n.reason, a.quarantine_reason),"
    " lease_hash = CASE WHEN n.released THEN NULL ELSE a.lease_hash END,"
    " locked_at = CASE WHEN n.released THEN NULL ELSE a.locked_at END,"
    " locked_until = CASE WHEN n.released THEN NULL ELSE a.locked_until END"
    " FROM unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::text[], $6::bool[])"
    " AS n (public_key, state, sequence, sequence_ledger, reason, released)"
    " WHERE a.public_key = n.public_key";

static const char sql_notify[] = "SELECT pg_notify('" POOL_CHANNEL "', '')";

/* The innermost transactions of the ledger that consumed their sequence numbers. */
struct consumed {
    struct bytes *hashes;
    const char **codes;
    size_t count;
};

static void consumed_free(struct consumed *consumed)
{
    free(consumed->hashes);
    free(consumed->codes);
}

static struct consumed consumed_of(const struct ledger *ledger)
{
    struct consumed consumed = {NEW_ARRAY(ledger->transaction_count, struct bytes),
        NEW_ARRAY(ledger->transaction_count, const char *), 0};
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        int32_t code = transaction->fee_bump ? transaction->inner_code : transaction->code;
        if (!result_consumes_sequence(code))
            continue;
        const struct hash *hash = transaction->fee_bump ? &transaction->inner_hash : &transaction->hash;
        consumed.hashes[consumed.count] = BYTES_OF(hash->bytes);
        consumed.codes[consumed.count++] = result_code_name(code);
    }
    return consumed;
}

/* A pool account that the ledger touched. */
struct touched {
    const struct ledger_account *seen;
    struct account_row row;
    char address[ADDRESS_SIZE];
    bool changed;
};

/* What one ledger does to the pool, while it is being found out. */
struct settlement {
    const struct ledger *ledger;
    struct settled *out;
    struct consumed consumed;
    char (*addresses)[ADDRESS_SIZE]; /* of ledger->accounts */
    const char **address_texts;
    struct db_rows *ours;
    struct db_rows *ended[3]; /* account and result of each lease that ended: by hash, superseded, expired */
    struct touched *touched;
    size_t touched_count;
};

static void settlement_free(struct settlement *settlement)
{
    consumed_free(&settlement->consumed);
    free(settlement->addresses);
    free(settlement->address_texts);
    db_rows_free(settlement->ours);
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        db_rows_free(settlement->ended[i]);
    free(settlement->touched);
}

static void encode_addresses(struct settlement *settlement)
{
    size_t count = settlement->ledger->account_count;
    settlement->addresses = mem_new(count, sizeof settlement->addresses[0]);
    settlement->address_texts = NEW_ARRAY(count, const char *);
    for (size_t i = 0; i < count; i++) {
        address_encode(&settlement->ledger->accounts[i].key, settlement->addresses[i]);
        settlement->address_texts[i] = settlement->addresses[i];
    }
}

/* Whether a transaction of ours consumed exactly this sequence number of the account in this ledger. The
   network includes one transaction of a source in a ledger, so an account stands in the rows at most once. */
static bool signed_by_us(const struct db_rows *ours, const char *address, int64_t sequence)
{
    for (size_t low = 0, high = db_count(ours); low < high;) {
        size_t middle = (low + high) / 2;
        int order = strcmp(address, db_text(ours, middle, 0));
        if (order == 0)
            return db_i64(ours, middle, 1) == sequence;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static enum err read_touched(struct settlement *settlement, const struct db_rows *rows, struct detail *detail)
{
    settlement->touched = NEW_ARRAY(db_count(rows), struct touched);
    for (size_t i = 0; i < db_count(rows); i++) {
        struct touched *touched = &settlement->touched[settlement->touched_count++];
        touched->seen = &settlement->ledger->accounts[db_i64(rows, i, 0)];
        address_encode(&touched->seen->key, touched->address);
        if (account_state_parse(db_text(rows, i, 1), &touched->row.state) != ERR_OK)
            return detail_set(detail, ERR_INTERNAL, "account %s has an unknown state", touched->address);
        touched->row.known = !db_is_null(rows, i, 2);
        if (touched->row.known) {
            touched->row.sequence = db_i64(rows, i, 2);
            touched->row.sequence_ledger = db_i64(rows, i, 3);
        }
    }
    return ERR_OK;
}

/* First: what the ledger says by hash, and the lock on every account of ours that it touched. */
static enum err settle_by_hash(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const struct consumed *consumed = &settlement->consumed;
    const struct db_statement statements[] = {
        DB_SQL(sql_ours, DB_BYTEAS(consumed->hashes, consumed->count)),
        DB_SQL(sql_settle, DB_BYTEAS(consumed->hashes, consumed->count),
            DB_TEXTS(consumed->codes, consumed->count), DB_I64(settlement->ledger->sequence)),
        DB_SQL(sql_touched, DB_TEXTS(settlement->address_texts, settlement->ledger->account_count)),
    };
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    settlement->ours = rows[0];
    settlement->ended[0] = rows[1];
    if (e == ERR_OK)
        e = read_touched(settlement, rows[2], detail);
    db_rows_free(rows[2]);
    return e;
}

static void transition_all(struct settlement *settlement)
{
    for (size_t i = 0; i < settlement->touched_count; i++) {
        struct touched *touched = &settlement->touched[i];
        enum account_state before = touched->row.state;
        bool ours = signed_by_us(settlement->ours, touched->address, touched->seen->sequence);
        touched->changed =
            account_transition(&touched->row, touched->seen, settlement->ledger->sequence, ours);
        if (touched->row.state == before)
            continue;
        settlement->out->created += touched->row.state == ACCOUNT_ACTIVE;
        settlement->out->retired += touched->row.state == ACCOUNT_RETIRED;
        settlement->out->quarantined += touched->row.state == ACCOUNT_QUARANTINED;
        if (touched->row.state == ACCOUNT_QUARANTINED)
            log_error("channel account quarantined", "account=%s ledger=%u reason=\"%s\"", touched->address,
                settlement->ledger->sequence, touched->row.reason);
    }
}

/* Then: leases whose account went past them, and leases that no later ledger can include. */
static enum err settle_by_state(struct settlement *settlement, struct db *db, struct detail *detail)
{
    const char **accounts AUTO_FREE = NEW_ARRAY(settlement->touched_count, const char *);
    int64_t *sequences AUTO_FREE = NEW_ARRAY(settlement->touched_count, int64_t);
    size_t count = 0;
    for (size_t i = 0; i < settlement->touched_count; i++) {
        const struct touched *touched = &settlement->touched[i];
        if (!touched->changed)
            continue;
        accounts[count] = touched->address;
        sequences[count++] = touched->seen->removed ? INT64_MAX : touched->seen->sequence;
    }
    const int64_t ledger = settlement->ledger->sequence,
                  close_time_s = (int64_t)settlement->ledger->close_time_s;
    const struct db_statement statements[] = {
        DB_SQL(sql_supersede, DB_TEXTS(accounts, count), DB_I64S(sequences, count), DB_I64(ledger)),
        DB_SQL(sql_expire, DB_I64(ledger), DB_I64(close_time_s)),
    };
    return db_run(db, statements, ARRAY_LEN(statements), &settlement->ended[1], detail);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The accounts of all leases that ended, sorted. The texts belong to settlement->ended. */
static const char **ended_accounts(struct settlement *settlement, size_t *count)
{
    size_t total = 0;
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        total += db_count(settlement->ended[i]);
    const char **accounts = NEW_ARRAY(total, const char *);
    *count = 0;
    for (size_t i = 0; i < ARRAY_LEN(settlement->ended); i++)
        for (size_t row = 0; row < db_count(settlement->ended[i]); row++) {
            const char *result = db_text(settlement->ended[i], row, 1);
            accounts[(*count)++] = db_text(settlement->ended[i], row, 0);
            settlement->out->confirmed += strcmp(result, "confirmed") == 0;
            settlement->out->failed += strcmp(result, "failed") == 0;
            settlement->out->superseded += strcmp(result, "superseded") == 0;
            settlement->out->expired += strcmp(result, "expired") == 0;
        }
    qsort(accounts, *count, sizeof accounts[0], compare_texts);
    return accounts;
}

/* The columns of sql_mirror. */
struct mirror {
    const char **accounts, **states, **reasons;
    int64_t *sequences, *ledgers;
    bool *released;
    size_t count;
};

static void mirror_free(struct mirror *mirror)
{
    free(mirror->accounts);
    free(mirror->states);
    free(mirror->reasons);
    free(mirror->sequences);
    free(mirror->ledgers);
    free(mirror->released);
}

static struct mirror mirror_of(const struct settlement *settlement, const char **ended, size_t ended_count)
{
    size_t room = settlement->touched_count;
    struct mirror mirror = {NEW_ARRAY(room, const char *), NEW_ARRAY(room, const char *),
        NEW_ARRAY(room, const char *), NEW_ARRAY(room, int64_t), NEW_ARRAY(room, int64_t),
        NEW_ARRAY(room, bool), 0};
    for (size_t i = 0; i < settlement->touched_count; i++) {
        const struct touched *touched = &settlement->touched[i];
        const char *address = touched->address;
        if (!touched->changed)
            continue;
        mirror.accounts[mirror.count] = address;
        mirror.states[mirror.count] = account_state_name(touched->row.state);
        mirror.reasons[mirror.count] = touched->row.reason;
        mirror.sequences[mirror.count] = touched->row.sequence;
        mirror.ledgers[mirror.count] = touched->row.sequence_ledger;
        mirror.released[mirror.count++] =
            bsearch(&address, ended, ended_count, sizeof ended[0], compare_texts) != NULL;
    }
    return mirror;
}

/* The accounts of ended leases that the mirror does not write; moved to the front of ended. */
static size_t only_released(const struct mirror *mirror, const char **ended, size_t ended_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < ended_count; i++)
        if (bsearch(&ended[i], mirror->accounts, mirror->count, sizeof mirror->accounts[0], compare_texts) ==
            NULL)
            ended[kept++] = ended[i];
    return kept;
}

/* Last: the rows of the accounts, each written once. */
static enum err write_accounts(struct settlement *settlement, struct db *db, struct detail *detail)
{
    size_t ended_count;
    const char **ended AUTO_FREE = ended_accounts(settlement, &ended_count);
    struct mirror mirror CLEANUP(mirror_free) = mirror_of(settlement, ended, ended_count);
    size_t rest = only_released(&mirror, ended, ended_count);
    settlement->out->released = ended_count;
    if (mirror.count + rest == 0)
        return ERR_OK;
    const struct db_statement statements[] = {
        DB_SQL(sql_mirror, DB_TEXTS(mirror.accounts, mirror.count), DB_TEXTS(mirror.states, mirror.count),
            DB_I64S(mirror.sequences, mirror.count), DB_I64S(mirror.ledgers, mirror.count),
            DB_TEXTS(mirror.reasons, mirror.count), DB_BOOLS(mirror.released, mirror.count)),
        DB_SQL(sql_release, DB_TEXTS(ended, rest)),
        DB_SQL0(sql_notify),
    };
    struct db_rows *rows[ARRAY_LEN(statements)] = {0};
    enum err e = db_run(db, statements, ARRAY_LEN(statements), rows, detail);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        db_rows_free(rows[i]);
    return e;
}

enum err pool_settle(struct db *db, const struct ledger *ledger, struct settled *out, struct detail *detail)
{
    *out = (struct settled){0};
    struct settlement settlement CLEANUP(settlement_free) = {
        .ledger = ledger, .out = out, .consumed = consumed_of(ledger)};
    encode_addresses(&settlement);
    enum err e = settle_by_hash(&settlement, db, detail);
    if (e == ERR_OK) {
        transition_all(&settlement);
        e = settle_by_state(&settlement, db, detail);
    }
    return e != ERR_OK ? e : write_accounts(&settlement, db, detail);
}

static const char sql_forget[] = "DELETE FROM fairway.leases WHERE hash = ANY (ARRAY("
                                 " SELECT l.hash FROM fairway.leases l WHERE l.settled_at < "
                                 "clock_timestamp() - make_interval(secs => $1::int8)"
                                 " ORDER BY l.settled_at LIMIT $2))";

enum err pool_forget(
    struct db *db, int64_t keep_seconds, int64_t limit, size_t *deleted, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL(sql_forget, DB_I64(keep_seconds), DB_I64(limit)), &rows, detail);
    *deleted = e == ERR_OK ? db_affected(rows) : 0;
    return e;
}
