/* Replaces sealed seeds in batches, each in a transaction of the session that has the provisioning lock. */
#include "provision/rotate.h"

#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "pool/account_read.h"
#include "pool/master_keys.h"
#include "session.h"

struct rotate {
    const struct rotate_settings *settings;
    struct session session;
    bool ready;               /* take_lock has ended since the session took the lock */
    char after[ADDRESS_SIZE]; /* the last account that was tried */
    struct rotate_result result;
    bool done;
};

/* What is replaced of a batch; old points into the rows that were read. */
struct batch {
    size_t count, broken;
    const char *texts[KEYS_BATCH_MAX];
    struct bytes old[KEYS_BATCH_MAX], fresh[KEYS_BATCH_MAX];
    struct generated_key accounts[KEYS_BATCH_MAX];
    enum err results[KEYS_BATCH_MAX];
};

static enum err reseal(
    const struct rotate *rotate, const struct db_rows *rows, struct batch *batch, struct detail *detail)
{
    const size_t count = db_count_at_most(rows, KEYS_BATCH_MAX);
    struct generated_key *accounts = batch->accounts;
    enum err e = ERR_OK;
    *batch = (struct batch){0};
    for (size_t i = 0; e == ERR_OK && i < count; i++)
        e = account_read_seed(rows, i, 0, &accounts[i].public_key, &accounts[i].sealed, detail);
    if (e != ERR_OK)
        return e;
    if ((e = keyd_reseal(rotate->settings->keyd, accounts, batch->results, count)) != ERR_OK)
        return detail_set(detail, e, "the key process did not seal the seeds again");
    for (size_t i = 0; i < count; i++) {
        if (batch->results[i] != ERR_OK) {
            batch->broken++;
            log_error("a sealed seed does not open under its master key, and stays as it is",
                "account=%s key=%s", db_text(rows, i, 0), db_text(rows, i, 2));
            continue;
        }
        batch->texts[batch->count] = db_text(rows, i, 0);
        batch->old[batch->count] = db_bytea(rows, i, 1);
        batch->fresh[batch->count++] = BYTES_OF(accounts[i].sealed.box);
    }
    return e;
}

/* The current key's row is stored before the first seed is sealed under it. */
static enum err store_key(struct rotate *rotate, struct detail *detail)
{
    const struct rotate_settings *settings = rotate->settings;
    struct master_key_row rows[MASTER_KEY_ROWS_MAX];
    size_t count;
    enum err e = master_keys_read(rotate->session.db, rows, &count, detail);
    rotate->result.had_ended = count == 1 && text_equal(rows[0].key_id, settings->current->key_id);
    if (e != ERR_OK)
        return e;
    e = master_key_store(rotate->session.db, settings->current, settings->keys, settings->key_count, detail);
    return e == ERR_CONSTRAINT ? ERR_CONFIG : e;
}

/* A replica that lacks the new key could lease nothing after the rotation, and does not start again. $1: how
 * its key is named. */
static const char sql_lacking[] =
    "SELECT count(*) FROM pg_stat_activity s WHERE s.datname = current_database()"
    " AND starts_with(s.application_name, '" MASTER_KEYS_SESSION "') AND strpos(s.application_name, $1) = 0";

static enum err check_replicas(const struct rotate *rotate, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    const char *key_id = rotate->settings->current->key_id;
    AUTO_FREE char *named = mem_format(" %.*s", MASTER_KEYS_DIGITS, key_id);
    enum err e = db_query(rotate->session.db, DB_SQL(sql_lacking, DB_TEXT(named)), &rows, detail);
    if (e != ERR_OK || db_i64(rows, 0, 0) == 0)
        return e;
    return detail_set(detail, ERR_NOT_YET,
        "%" PRId64
        " of the replicas lack master key %s: give it to them as MASTER_KEY_FILE beside the old one, and"
        " restart them",
        db_i64(rows, 0, 0), key_id);
}

static enum err take_lock(struct rotate *rotate, struct detail *detail)
{
    rotate->ready &= rotate->session.locked;
    if (rotate->ready)
        return ERR_OK;
    enum err e = session_take(&rotate->session, detail);
    if (e == ERR_OK)
        e = session_begin(&rotate->session, detail);
    if (e == ERR_OK)
        e = check_replicas(rotate, detail);
    if (e == ERR_OK)
        e = store_key(rotate, detail);
    e = session_end(&rotate->session, e, detail);
    rotate->ready = e == ERR_OK;
    return e;
}

/* Runs a statement as a transaction of the session. */
static enum err execute(struct rotate *rotate, struct db_statement statement, struct detail *detail)
{
    enum err e = session_begin(&rotate->session, detail);
    if (e == ERR_OK)
        e = db_query(rotate->session.db, statement, NULL, detail);
    return session_end(&rotate->session, e, detail);
}

static const char sql_counts[] =
    "SELECT count(*), count(*) FILTER (WHERE a.key_id <> $1) FROM fairway.channel_accounts a";

static enum err log_progress(struct rotate *rotate, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    const char *key_id = rotate->settings->current->key_id;
    enum err e = db_query(rotate->session.db, DB_SQL(sql_counts, DB_TEXT(key_id)), &rows, detail);
    if (e != ERR_OK)
        return e;
    rotate->result.accounts = db_i64(rows, 0, 0);
    log_info("seeds are sealed under the new master key", "key=%s done=%" PRId64 " left=%" PRId64, key_id,
        db_i64(rows, 0, 0) - db_i64(rows, 0, 1), db_i64(rows, 0, 1));
    return ERR_OK;
}

static const char sql_next[] = "SELECT " ACCOUNT_SEED_COLUMNS " FROM fairway.channel_accounts a"
                               " WHERE a.key_id <> $1 AND a.public_key > $2 ORDER BY a.public_key LIMIT $3";

static const char sql_reseal[] = "SELECT fairway.reseal_accounts($1, $2, $3, $4)";

static const char sql_end[] = "SELECT fairway.end_rotation($1)";

static enum err step(struct rotate *rotate, struct batch *batch, struct detail *detail)
{
    const struct db_param key_id = DB_TEXT(rotate->settings->current->key_id);
    AUTO_ROWS rows = NULL;
    enum err e = take_lock(rotate, detail);
    if (e == ERR_OK)
        e = db_query(rotate->session.db,
            DB_SQL(sql_next, key_id, DB_TEXT(rotate->after), DB_I64(KEYS_BATCH_MAX)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (db_count(rows) == 0) {
        rotate->done = true;
        if ((e = check_replicas(rotate, detail)) != ERR_OK) /* one may have started meanwhile */
            return e;
        e = rotate->result.broken > 0 || rotate->result.had_ended
                ? ERR_OK
                : execute(rotate, DB_SQL(sql_end, key_id), detail);
        return e == ERR_OK ? log_progress(rotate, detail) : e;
    }
    if ((e = reseal(rotate, rows, batch, detail)) != ERR_OK ||
        (e = execute(rotate,
             DB_SQL(sql_reseal, DB_TEXTS(batch->texts, batch->count), DB_BYTEAS(batch->old, batch->count),
                 DB_BYTEAS(batch->fresh, batch->count), key_id),
             detail)) != ERR_OK)
        return e;
    rotate->result.broken += batch->broken;
    address_encode(&batch->accounts[db_count_at_most(rows, KEYS_BATCH_MAX) - 1].public_key, rotate->after);
    return log_progress(rotate, detail);
}

static enum err run(struct rotate *rotate, struct batch *batch, struct detail *detail)
{
    struct session_patience patience = {.waiting = "rotate-master-key is waiting",
        .timeout_s = rotate->settings->timeout_s,
        .poll_ms = rotate->settings->poll_ms};
    enum err e = ERR_OK;
    while (!rotate->done && (e == ERR_OK || session_try_again(&patience, e, detail))) {
        *detail = (struct detail){0};
        e = step(rotate, batch, detail);
        rotate->done &= e == ERR_OK;
        if (e == ERR_OK)
            patience.deadline_ms = 0;
    }
    return e;
}

enum err rotate_all(const struct rotate_settings *settings, struct rotate_result *out, struct detail *detail)
{
    struct rotate rotate = {
        .settings = settings, .session = session_new(settings->database_url, &settings->network)};
    AUTO_FREE struct batch *batch = NEW(struct batch);
    enum err e = run(&rotate, batch, detail);
    *out = rotate.result;
    session_free(&rotate.session);
    return e;
}
