#include "script.h"

#include "base/clock.h"
#include "connection.h"

enum err script_run(struct db *db, const char *text, int timeout_ms, struct detail *detail)
{
    int64_t deadline_ms = clock_ms() + timeout_ms;
    enum err e = connection_ready(db, detail);
    if (e != ERR_OK)
        return e;
    if (!PQsendQuery(db->conn, text))
        return connection_lost(db, NULL, detail);
    for (;;) {
        if (!connection_wait(db->conn, deadline_ms))
            return connection_lost(db, "the server does not answer", detail);
        PGresult *result = PQgetResult(db->conn);
        if (result == NULL)
            break;
        if (PQresultStatus(result) == PGRES_FATAL_ERROR && e == ERR_OK)
            e = connection_refusal(db, result, detail);
        PQclear(result);
    }
    if (PQstatus(db->conn) != CONNECTION_OK)
        return connection_lost(db, NULL, e == ERR_OK ? detail : NULL);
    db->in_transaction = PQtransactionStatus(db->conn) != PQTRANS_IDLE;
    return e;
}
