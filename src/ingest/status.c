/* How ingestion is, for probes and metrics. Nothing here influences it. */
#include "status.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "pool/grants_allowed.h"

#define LOG_AGAIN_MS 60000
/* A request that failed once or twice does not make a replica unready. */
#define FAILURES_TOLERATED 2

void status_init(struct status *status, unsigned ledger_seconds)
{
    *status = (struct status){.lag_limit_s = grants_clock_slack_s(ledger_seconds)};
    pthread_mutex_init(&status->mutex, NULL);
}

void status_wipe(struct status *status)
{
    pthread_mutex_destroy(&status->mutex);
}

void status_cursor(struct status *status, const struct cursor_snapshot *cursor)
{
    pthread_mutex_lock(&status->mutex);
    status->cursor = *cursor;
    status->read_ms = clock_ms();
    pthread_mutex_unlock(&status->mutex);
}

void status_ok(struct status *status)
{
    pthread_mutex_lock(&status->mutex);
    bool recovered = status->failures > FAILURES_TOLERATED || status->stopped;
    status->failures = 0;
    status->stopped = false;
    status->log_again_ms = 0;
    status->problem = (struct detail){0};
    pthread_mutex_unlock(&status->mutex);
    if (recovered)
        log_info("ingestion recovered", NULL);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool equal_without_digits(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (is_digit(*a))
            a++;
        while (is_digit(*b))
            b++;
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

void status_failed(struct status *status, enum err e, bool stopped, const struct detail *detail)
{
    pthread_mutex_lock(&status->mutex);
    status->failures += status->failures <= FAILURES_TOLERATED;
    bool is_new = e != status->error || stopped != status->stopped ||
                  !equal_without_digits(status->problem.text, detail->text);
    bool logs = is_new || clock_left_ms(status->log_again_ms) == 0;
    status->stopped = stopped;
    status->error = e;
    status->problem = *detail;
    if (logs)
        status->log_again_ms = clock_ms() + LOG_AGAIN_MS;
    pthread_mutex_unlock(&status->mutex);
    if (logs && stopped)
        log_error("ingestion stopped; leases stay open until this is fixed", "error=%s detail=\"%s\"",
            err_code(e), detail->text);
    else if (logs)
        log_warn("ingestion failed; retrying", "error=%s detail=\"%s\"", err_code(e), detail->text);
}

static bool judge(const struct status *status, struct detail *why)
{
    if (status->stopped || status->failures > FAILURES_TOLERATED) {
        detail_set(why, ERR_OK, "ingestion %s: %s", status->stopped ? "stopped" : "failed, retrying",
            status->problem.text);
        return false;
    }
    if (!status->cursor.known) {
        detail_set(why, ERR_OK, "no ledger has been ingested yet");
        return false;
    }
    int64_t lag_s = status->cursor.lag_s + (clock_ms() - status->read_ms) / 1000;
    if (lag_s <= status->lag_limit_s)
        return true;
    detail_set(why, ERR_OK, "the last ledger committed, %u, closed %" PRId64 " s ago",
        status->cursor.sequence, lag_s);
    return false;
}

bool status_ready(struct status *status, struct detail *why)
{
    pthread_mutex_lock(&status->mutex);
    bool ready = judge(status, why);
    pthread_mutex_unlock(&status->mutex);
    return ready;
}
