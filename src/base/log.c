/* Formats and writes log lines. It allocates nothing and takes no lock, so any thread may log at any time. */
#include "base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

static const char *const names[] = {"debug", "info", "warn", "error"};
static atomic_int threshold = LOG_INFO; /* any thread may change it */
static atomic_bool json_lines;
static atomic_uint missing; /* lines since the last one that was written */

#define PIPE_BYTES (1 << 20) /* as large as any process may make it: a burst of lines fits */

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

enum err log_set_format(const char *name)
{
    const bool json = strcasecmp(name, "json") == 0;
    if (!json && strcasecmp(name, "logfmt") != 0)
        return ERR_CONFIG;
    atomic_store_explicit(&json_lines, json, memory_order_relaxed);
    return ERR_OK;
}

bool log_is_json(void)
{
    return atomic_load_explicit(&json_lines, memory_order_relaxed);
}

void log_never_wait(void)
{
    struct stat status;
    if (fstat(STDERR_FILENO, &status) != 0 || (!S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode)))
        return;
    /* The flag of the inherited descriptor would count for every process that writes into the pipe. */
    const int own = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (own < 0) /* a socket, or another user's pipe */
        fcntl(STDERR_FILENO, F_SETFL, fcntl(STDERR_FILENO, F_GETFL) | O_NONBLOCK);
    else {
        dup2(own, STDERR_FILENO);
        close(own);
    }
    fcntl(STDERR_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

/* A line is cut when it is full. Three bytes stay free, for a closing quote, a brace and the newline. */
struct line {
    char text[2048];
    size_t len;
    bool json;
    bool quoted; /* inside the quotes of a value */
    bool full;
};

static void put(struct line *line, const char *text, size_t len)
{
    line->full |= len > sizeof line->text - 3 - line->len;
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

/* Escapes as logfmt readers expect: \" and \\, \n, \r and \t, \xNN for other control characters. In JSON, the
 * first two and \uNNNN, a whole character at a time, so that none is cut; what is not UTF-8 becomes U+FFFD.
 * Returns how many bytes of text were used. */
static size_t put_character(struct line *line, const char *text, size_t len)
{
    static const char named[] = "\"\"\\\\\nn\rr\tt";
    const size_t end = line->json ? 4 : sizeof named - 1;
    char character[5] = "", escape[8];
    memcpy(character, text, len < 4 ? len : 4); /* nothing is read past the end */
    const size_t used = text_character_length(character);
    const bool is_control = text_is_control(character);
    const unsigned char c = (unsigned char)character[is_control ? used - 1 : 0]; /* U+0080: \xc2\x80 */
    size_t name = 0;
    while (name < end && (unsigned char)named[name] != c)
        name += 2;
    if (used == 0 && line->json)
        put(line, "\\ufffd", 6);
    else if (name < end)
        put(line, (char[]){'\\', named[name + 1]}, 2);
    else if (used == 0 || is_control)
        put(line, escape, (size_t)snprintf(escape, sizeof escape, line->json ? "\\u%04x" : "\\x%02x", c));
    else
        put(line, character, used);
    return used == 0 ? 1 : used;
}

static bool is_plain(unsigned char c)
{
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c < 0x7f;
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
    for (size_t i = 0; i < len;)
        i += put_character(line, text + i, len - i);
    if (quote)
        put_quote(line);
}

/* Writes the conversion whose '%' precedes *at, and moves *at to its last character. Width and flags are
 * ignored, as is the precision of a number; no log line needs them. */
static void put_conversion(struct line *line, const char **at, va_list *args)
{
    char number[330] = ""; /* the largest has 309 digits, a point and three */
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

/* Whether the value of a pair is one conversion of a number. */
static bool is_number(const char *value)
{
    if (*value != '%')
        return false;
    const char *conversion = value + 1 + strspn(value + 1, "-+ #.0123456789lzj");
    return *conversion != '\0' && strchr("duf", *conversion) != NULL &&
           (conversion[1] == ' ' || conversion[1] == '\0');
}

/* Writes the pair at fields, in JSON nothing of it if the line is full before its value. Returns the end of
 * the pair. */
static const char *put_pair(struct line *line, const char *fields, va_list *args)
{
    const size_t before = line->len, name = strcspn(fields, "= ");
    const char *at = fields + name + (fields[name] == '=');
    const bool quoted = *at == '"', quotes = line->json ? !is_number(at) : quoted;
    put(line, line->json ? ",\"" : " ", line->json ? 2 : 1);
    put(line, fields, name);
    put(line, line->json ? "\":" : "=", line->json ? 2 : 1);
    if (quotes)
        put_quote(line);
    for (at += quoted; *at != '\0' && *at != (quoted ? '"' : ' ') && !line->full; at++)
        if (*at == '%') {
            at++;
            put_conversion(line, &at, args);
        } else
            put_character(line, at, 1);
    if (quotes)
        put_quote(line);
    if (line->json && line->full && !line->quoted)
        line->len = before;
    return at + (quoted && *at == '"');
}

/* Writes each line with one write(2), so that lines of threads and processes that share the descriptor do not
 * mix. */
static void write_line(enum log_level level, const char *msg, const char *fields, va_list *args)
{
    struct timespec now;
    struct tm utc;
    struct line line = {.json = log_is_json()};
    char date[24], start[80];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(start, sizeof start,
        line.json ? "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"msg\":" : "time=%s.%03ldZ level=%s msg=",
        date, now.tv_nsec / 1000000, names[level]);
    put(&line, start, strlen(start));
    put_quote(&line);
    put_value(&line, msg, 200);
    put_quote(&line);
    for (const char *at = fields; at != NULL && *at != '\0' && !line.full;)
        at = *at == ' ' ? at + 1 : put_pair(&line, at, args);
    if (line.quoted)
        line.text[line.len++] = '"';
    if (line.json)
        line.text[line.len++] = '}';
    line.text[line.len++] = '\n';
    if (write(STDERR_FILENO, line.text, line.len) < 0) {
        atomic_fetch_add(&missing, 1); /* there is no other place to report it */
        return;
    }
    const unsigned lines = atomic_exchange(&missing, 0);
    if (lines > 0)
        log_warn("lines are missing here: whoever reads the log did not keep up", "lines=%u", lines);
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
