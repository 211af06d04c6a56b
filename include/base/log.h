/*
 * The log: each event is one line on standard error: logfmt (time=... level=... msg="..." key=value ...), or
 * a JSON object with the same members.
 * Libraries return errors; the edges of the program log them, once. Never log a body, a seed or a sealed
 * seed.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR
};

/* "debug" (also "trace"), "info", "warn" or "error", in upper or lower case; else ERR_CONFIG. Call it before
 * other threads log. */
MUST_CHECK enum err log_set_level(const char *name);

/* "logfmt" (the default) or "json", in upper or lower case; else ERR_CONFIG. Call it before other threads
 * log. */
MUST_CHECK enum err log_set_format(const char *name);
bool log_is_json(void);

/* From now on no thread, and none of a process that is started, waits for whoever reads the log from a pipe
 * or socket: what does not fit is dropped, and the next line that fits is followed by their number. Call it
 * before other threads log. */
void log_never_wait(void);

/*
 * msg is a constant phrase; fields is a printf format of key=value pairs, or NULL:
 *     log_info("ledger committed", "ledger=%u settled=%zu detail=\"%s\"", sequence, settled, detail.text);
 * The conversions are s (also with a precision), d and u (also with the lengths l, ll, z and j), and f
 * (finite; always three decimals). Quotes, backslashes and control characters of %s are escaped, and a value
 * without quotes gets them when it needs them, so that no value can end the line or look like another field.
 * In JSON a value that is one number conversion is a number, and every other value a string; what is not
 * UTF-8 becomes U+FFFD.
 */
void log_line(enum log_level level, const char *msg, const char *fields, ...)
    __attribute__((format(printf, 3, 4)));

#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)

/* Logs at level error and exits with exit_code (EX_* of sysexits.h). */
_Noreturn void log_fatal(int exit_code, const char *msg, const char *fields, ...)
    __attribute__((format(printf, 3, 4)));
