#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

static const char *const names[] = {"debug", "info", "warn", "error"};
static enum log_level threshold = LOG_INFO;

enum err log_set_level(const char *name)
{
    if (strcasecmp(name, "trace") == 0)
        name = "debug";
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcasecmp(name, names[i]) == 0) {
            threshold = (enum log_level)i;
            return ERR_OK;
        }
    return ERR_CONFIG;
}

/* One write(2) a line, so that lines of threads and processes that share the descriptor do not mix. */
__attribute__((format(printf, 3, 0))) static void write_line(
    enum log_level level, const char *msg, const char *fields, va_list args)
{
    struct timespec now;
    struct tm utc;
    char line[2048];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t len = strftime(line, sizeof line, "time=%Y-%m-%dT%H:%M:%S", &utc);
    len += (size_t)snprintf(line + len, sizeof line - len, ".%03ldZ level=%s msg=\"%.200s\"",
        now.tv_nsec / 1000000, names[level], msg);
    if (fields != NULL) {
        line[len++] = ' ';
        int more = vsnprintf(line + len, sizeof line - len - 1, fields, args);
        size_t room = sizeof line - len - 2;
        len += more < 0 ? 0 : (size_t)more < room ? (size_t)more : room;
    }
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = ' ';
    line[len++] = '\n';
    if (write(STDERR_FILENO, line, len) < 0)
        return; /* nowhere left to say so */
}

void log_line(enum log_level level, const char *msg, const char *fields, ...)
{
    if (level < threshold)
        return;
    va_list args;
    va_start(args, fields);
    write_line(level, msg, fields, args);
    va_end(args);
}

void log_fatal(int exit_code, const char *msg, const char *fields, ...)
{
    va_list args;
    va_start(args, fields);
    write_line(LOG_ERROR, msg, fields, args);
    va_end(args);
    exit(exit_code);
}
