/* Formats and writes log lines. It allocates nothing and takes no lock, so any thread may log at any time. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

static const char *const names[] = {"debug", "info", "warn", "error"};
static atomic_int threshold = LOG_INFO; /* any thread may change it */

enum err log_set_level(const char *name)
{
    if (strcasecmp(name, "trace") == 0)
        name = "debug";
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcasecmp(name, names[i]) == 0) {
            atomic_store_explicit(&threshold, (int)i, memory_order_relaxed);
            return ERR_OK;
        }
    return ERR_CONFIG;
}

/* A line is cut when it is full. Two bytes stay free, for a closing quote and the newline. */
struct line {
    char text[2048];
    size_t len;
    bool quoted; /* inside the quotes of a value */
    bool full;
};

static void put(struct line *line, const char *text, size_t len)
{
    line->full |= len > sizeof line->text - 2 - line->len;
    if (line->full)
        return;
    memcpy(line->text + line->len, text, len);
    line->len += len;
}

static void put_quote(struct line *line)
{
    put(line, "\"", 1);
    line->quoted ^= !line->full;
}

/* Escapes as logfmt readers expect: \" and \\, \n, \r and \t, \xNN for other control characters. */
static void put_escaped(struct line *line, unsigned char c)
{
    static const char named[] = "\"\"\\\\\nn\rr\tt";
    char escape[5] = {(char)c};
    for (const char *at = named; *at != '\0'; at += 2)
        if ((unsigned char)at[0] == c) {
            const char pair[] = {'\\', at[1]};
            put(line, pair, 2);
            return;
        }
    if (c < ' ' || c == 0x7f)
        snprintf(escape, sizeof escape, "\\x%02x", c);
    put(line, escape, strlen(escape));
}

static bool is_plain(unsigned char c)
{
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != 0x7f;
}

/* A value outside of quotes gets them when it needs them, so that no value looks like another field. */
static void put_value(struct line *line, const char *text, size_t max)
{
    size_t len = text == NULL ? 0 : strnlen(text, max), plain = 0;
    while (plain < len && is_plain((unsigned char)text[plain]))
        plain++;
    const bool quote = !line->quoted && plain < len;
    if (quote)
        put_quote(line);
    for (size_t i = 0; i < len; i++)
        put_escaped(line, (unsigned char)text[i]);
    if (quote)
        put_quote(line);
}

/* Writes the conversion whose '%' precedes *at, and moves *at to its last character. Width and flags are
 * ignored, as is the precision of a number; no log line needs them. */
static void put_conversion(struct line *line, const char **at, va_list *args)
{
    char number[48] = "";
    size_t precision = SIZE_MAX;
    const char *conversion = *at + strspn(*at, "-+ #0123456789");
    if (*conversion == '.') {
        char *end;
        precision = strtoul(conversion + 1, &end, 10);
        conversion = end;
    }
    const size_t length = strspn(conversion, "lzj");
    const bool wide = length > 0; /* long, size_t and intmax_t are 64 bits wide */
    *at = conversion + length;
    switch (**at) {
    case 's':
        put_value(line, va_arg(*args, const char *), precision);
        return;
    case 'd':
        snprintf(number, sizeof number, "%lld", wide ? va_arg(*args, long long) : va_arg(*args, int));
        break;
    case 'u':
        snprintf(number, sizeof number, "%llu",
            wide ? va_arg(*args, unsigned long long) : va_arg(*args, unsigned));
        break;
    case 'f':
        snprintf(number, sizeof number, "%.3f", va_arg(*args, double));
        break;
    default: /* a bug; the arguments that follow cannot be read */
        put(line, "?", 1);
        line->full = true;
        return;
    }
    put(line, number, strlen(number));
}

static void put_fields(struct line *line, const char *fields, va_list *args)
{
    for (const char *at = fields; *at != '\0' && !line->full; at++)
        if (*at == '%') {
            at++;
            put_conversion(line, &at, args);
        } else if (*at == '"')
            put_quote(line);
        else
            put(line, at, 1);
}

/* Writes each line with one write(2), so that lines of threads and processes that share the descriptor do not
 * mix. */
static void write_line(enum log_level level, const char *msg, const char *fields, va_list *args)
{
    struct timespec now;
    struct tm utc;
    struct line line = {.len = 0};
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    line.len = strftime(line.text, sizeof line.text, "time=%Y-%m-%dT%H:%M:%S", &utc);
    line.len += (size_t)snprintf(line.text + line.len, sizeof line.text - line.len,
        ".%03ldZ level=%s msg=", now.tv_nsec / 1000000, names[level]);
    put_quote(&line);
    put_value(&line, msg, 200);
    put_quote(&line);
    if (fields != NULL) {
        put(&line, " ", 1);
        put_fields(&line, fields, args);
    }
    if (line.quoted)
        line.text[line.len++] = '"';
    line.text[line.len++] = '\n';
    if (write(STDERR_FILENO, line.text, line.len) < 0)
        return; /* there is no other place to report it */
}

void log_line(enum log_level level, const char *msg, const char *fields, ...)
{
    if ((int)level < atomic_load_explicit(&threshold, memory_order_relaxed))
        return;
    va_list args;
    va_start(args, fields);
    write_line(level, msg, fields, &args);
    va_end(args);
}

void log_fatal(int exit_code, const char *msg, const char *fields, ...)
{
    va_list args;
    va_start(args, fields);
    write_line(LOG_ERROR, msg, fields, &args);
    va_end(args);
    fflush(NULL);
    _exit(exit_code); /* without exit handlers: they free what other threads use */
}
