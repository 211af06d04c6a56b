/* Takes the provisioning lock, and checks in each transaction that its session still has it. Decides nothing.
 */
#include "session.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "pool/lock_numbers.h"

static const char sql_take[] = "SELECT pg_try_advisory_lock($1), pg_backend_pid()";

static const char sql_backend[] = "SELECT pg_backend_pid()";

struct session session_new(const char *database_url, const struct network_id *network)
{
    return (struct session){
        .db = db_new(&(struct db_settings){.url = database_url, .name = "fairway provision"}),
        .lock = lock_numbers_of(network).provisioning,
    };
}

void session_free(struct session *session)
{
    db_free(session->db);
    *session = (struct session){0};
}

enum err session_take(struct session *session, struct detail *detail)
{
    if (session->locked)
        return ERR_OK;
    AUTO_ROWS rows = NULL;
    enum err e = db_query(session->db, DB_SQL(sql_take, DB_I64(session->lock)), &rows, detail);
    if (e != ERR_OK)
        return e;
    if (!db_bool(rows, 0, 0))
        return detail_set(detail, ERR_NOT_LEADER, "another process is changing the pool's size");
    session->locked = true;
    session->backend = db_i32(rows, 0, 1);
    return ERR_OK;
}

enum err session_begin(struct session *session, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_begin(session->db, detail);
    if (e == ERR_OK)
        e = db_query(session->db, DB_SQL0(sql_backend), &rows, detail);
    if (e == ERR_OK && db_i32(rows, 0, 0) == session->backend)
        return ERR_OK;
    db_rollback(session->db);
    db_disconnect(session->db);
    session->locked = false;
    return e != ERR_OK
               ? e
               : detail_set(detail, ERR_NOT_YET, "the session that held the provisioning lock was lost");
}

enum err session_end(struct session *session, enum err e, struct detail *detail)
{
    if (e == ERR_OK)
        return db_commit(session->db, detail);
    db_rollback(session->db);
    return e;
}

bool session_try_again(struct session_patience *patience, enum err e, const struct detail *detail)
{
    if (patience->deadline_ms == 0 || e == ERR_NOT_LEADER)
        patience->deadline_ms = clock_ms() + (int64_t)patience->timeout_s * 1000;
    if (e != ERR_NOT_LEADER && (!err_is_transient(e) || clock_left_ms(patience->deadline_ms) == 0))
        return false;
    if (!text_equal_but_digits(patience->logged.text, detail->text))
        log_info(patience->waiting, "error=%s reason=\"%s\"", err_code(e), detail->text);
    patience->logged = *detail;
    clock_sleep_ms((int)patience->poll_ms);
    return true;
}

/* The COMMITs that stored them may not have waited for the standby. A later COMMIT that waits for the standby
 * covers them too. */
enum err session_read_pending(struct session *session, struct provisioning_list *out, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    *out = (struct provisioning_list){0};
    enum err e = session_begin(session, detail);
    if (e == ERR_OK)
        e = db_query(session->db, DB_SQL0(provisioning_sql), &rows, detail);
    if (e == ERR_OK)
        e = provisioning_read_pending(rows, out, detail);
    if (e == ERR_OK)
        e = db_commit_durably(session->db, detail);
    db_rollback(session->db);
    if (e != ERR_OK)
        provisioning_pending_free(out);
    return e;
}
