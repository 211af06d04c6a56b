/*
 * The log: one logfmt line (time=... level=... msg="..." key=value ...) an event on standard error. Libraries
 * return errors, edges log them, once. Never log a body, a seed, or a sealed seed.
 */
#ifndef FAIRWAY_BASE_LOG_H
#define FAIRWAY_BASE_LOG_H

#include "base/err.h"

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR
};

/* "debug" (also "trace"), "info", "warn" or "error", in any case; else ERR_CONFIG. */
MUST_CHECK enum err log_set_level(const char *name);

/*
 * msg is a constant phrase; fields is a printf format of key=value pairs, or NULL:
 *     log_info("ledger committed", "ledger=%u settled=%zu detail=\"%s\"", sequence, settled, detail.text);
 * Control characters in the outcome become spaces, so that one event is one line whatever the values hold.
 */
void log_line(enum log_level level, const char *msg, const char *fields, ...)
    __attribute__((format(printf, 3, 4)));

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

/* The process cannot go on: logs and exits with code (EX_* of sysexits.h). */
_Noreturn void log_fatal(int exit_code, const char *msg, const char *fields, ...)
    __attribute__((format(printf, 3, 4)));

#endif
