/* How ingestion is, for probes and metrics. Nothing here influences it. */
#include "status.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "pool/grants_allowed.h"
#include "stellar/protocol.h"

#define LOG_AGAIN_MS 60000
/* A request that failed once or twice does not make a replica unready. */
#define FAILURES_TOLERATED 2

void status_init(struct status *status, unsigned ledger_ms)
{
    *status = (struct status){.lag_limit_s = grants_clock_slack_s(ledger_ms)};
    pthread_mutex_init(&status->mutex, NULL);
}

void status_wipe(struct status *status)
{
    pthread_mutex_destroy(&status->mutex);
}

/* With the mutex. */
static bool is_down(const struct status *status)
{
    return status->stopped || status->failures > FAILURES_TOLERATED;
}

void status_cursor(struct status *status, const struct cursor_snapshot *cursor, bool committed)
{
    pthread_mutex_lock(&status->mutex);
    const bool moved =
        committed || (status->cursor.known && cursor->known && cursor->sequence > status->cursor.sequence);
    status->cursor = *cursor;
    status->read_ms = clock_ms();
    const bool recovered = moved && is_down(status);
    if (moved) {
        status->moved_ms = clock_ms();
        status->failures = 0;
        status->stopped = false;
    }
    if (recovered)
        status->problem = (struct detail){0};
    pthread_mutex_unlock(&status->mutex);
    if (recovered)
        log_info("ingestion recovered", "ledger=%" PRIu32, cursor->sequence);
}

/* What is down stays down: an RPC that answers, or a lead that was lost, has committed nothing. */
void status_idle(struct status *status, enum err e, const struct detail *detail)
{
    pthread_mutex_lock(&status->mutex);
    if (!is_down(status))
        status->failures = 0;
    status->idle = e;
    status->waits = *detail;
    pthread_mutex_unlock(&status->mutex);
}

void status_failed(struct status *status, enum err e, bool stopped, const struct detail *detail)
{
    pthread_mutex_lock(&status->mutex);
    status->failures += status->failures <= FAILURES_TOLERATED;
    bool is_new = e != status->error || stopped != status->stopped ||
                  !text_equal_but_digits(status->problem.text, detail->text);
    bool logs = is_new || clock_left_ms(status->log_again_ms) == 0;
    status->stopped = stopped;
    status->error = e;
    status->problem = *detail;
    if (logs)
        status->log_again_ms = clock_ms() + LOG_AGAIN_MS;
    pthread_mutex_unlock(&status->mutex);
    if (stopped && e == ERR_XDR_UNKNOWN_ARM)
        protocol_note(PROTOCOL_KNOWN + 1, "a ledger with a type that is not known");
    if (logs && stopped)
        log_error("ingestion stopped; leases stay open until this is fixed", "error=%s detail=\"%s\"",
            err_code(e), detail->text);
    else if (logs)
        log_warn("ingestion failed; retrying", "error=%s detail=\"%s\"", err_code(e), detail->text);
}

/* Why the cursor may stand still. */
static const char *standstill(const struct status *status)
{
    if (status->failures > 0)
        return status->problem.text;
    if (status->idle == ERR_NOT_LEADER)
        return "another process leads ingestion, and its log says why";
    return status->waits.text[0] != '\0' ? status->waits.text : "Stellar RPC has returned no later one";
}

/* A replica that does not lead is ready by the cursor alone: as long as another one moves it. */
static bool judge(const struct status *status, struct detail *why)
{
    if (is_down(status)) {
        detail_set(why, ERR_OK, "ingestion %s: %s", status->stopped ? "stopped" : "failed, retrying",
            status->problem.text);
        return false;
    }
    if (!status->cursor.known) {
        detail_set(why, ERR_OK, "%s",
            status->failures > 0   ? status->problem.text
            : status->read_ms == 0 ? "ingestion has not read the database yet"
                                   : "no ledger has been ingested yet");
        return false;
    }
    int64_t lag_s = status->cursor.lag_s + (clock_ms() - status->read_ms) / 1000;
    if (lag_s <= status->lag_limit_s ||
        (status->moved_ms != 0 && (clock_ms() - status->moved_ms) / 1000 <= status->lag_limit_s))
        return true;
    detail_set(why, ERR_OK, "the last ledger committed, %u, closed %" PRId64 " s ago: %s",
        status->cursor.sequence, lag_s, standstill(status));
    return false;
}

bool status_ready(struct status *status, struct detail *why)
{
    pthread_mutex_lock(&status->mutex);
    bool ready = judge(status, why);
    pthread_mutex_unlock(&status->mutex);
    return ready;
}
