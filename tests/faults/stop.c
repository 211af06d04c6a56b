/*
 * Preloaded into a release build of `fairway` by tests: gives each SQL statement, and each act that others
 * can observe, a point with a stable name, and stops, kills or cuts off the process there. fairway itself has
 * no hooks for this.
 *
 * FAIRWAY_STOP_DIR names a folder. While it has a file `trace`, each point that is passed appends its name as
 * a line. A file `arm` of three lines (action, name, count) says what happens at the count-th pass of that
 * point from then on; the file `reached` is made just before, and means that it has happened. Actions:
 *
 * - kill: SIGKILL to itself
 * - stop: SIGSTOP to itself
 * - pause: SIGSTOP to itself, with libpq's unsent data still unsent, as after a SIGSTOP from outside
 * - cut: closes the connection of the point
 *
 * At a point before a statement, the server has received everything before it, and has had time to execute
 * it.
 *
 * Names: "SESSION: STATEMENT" before a statement; "SESSION: sync after STATEMENT" when all of a round trip
 * but its Sync was sent, STATEMENT being its last one; "SESSION: answers after STATEMENT" when the server has
 * responded and nothing was read; "SESSION: read after STATEMENT" when everything was read; "keyd: MESSAGE"
 * and "keyd: MESSAGE answered"; "reply STATUS" and "reply STATUS sent"; "rpc: sendTransaction" and "rpc:
 * sendTransaction sent", which is before the answer. Round trips that happen only now and
 * then have statements of their own, so the points of the others keep their names and counts.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <linux/landlock.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAME_SIZE 160
#define STATEMENT_CHARS 64
#define STATEMENTS_MAX 1024
/* Time for the server to execute what it was sent, and to respond. */
#define SETTLE_MS 40
#define ANSWER_MS 3000

#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char counted_name[NAME_SIZE];
static int counted;

enum action {
    NOTHING,
    KILL,
    STOP,
    PAUSE,
    CUT
};

/* A confined fairway could not reach the folder: gives Landlock's rule set a rule for it first. */
long syscall(long number, ...)
{
    long arguments[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    const char *folder = getenv("FAIRWAY_STOP_DIR");
    if (number == SYS_landlock_restrict_self && folder != NULL) {
        struct landlock_path_beneath_attr rule = {
            .allowed_access = (1u << 13) - 1, .parent_fd = open(folder, O_PATH | O_CLOEXEC)};
        if (NEXT(syscall)(SYS_landlock_add_rule, arguments[0], LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
            abort();
        close(rule.parent_fd);
    }
    return NEXT(syscall)(
        number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

static const char *at_folder(char path[static 256], const char *file)
{
    const char *folder = getenv("FAIRWAY_STOP_DIR");
    if (folder == NULL || snprintf(path, 256, "%s/%s", folder, file) >= 256)
        return NULL;
    return path;
}

static void trace(const char *name)
{
    char path[256], line[NAME_SIZE + 2];
    int fd = at_folder(path, "trace") != NULL ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    int len = snprintf(line, sizeof line, "%s\n", name);
    if (write(fd, line, (size_t)len) != len)
        abort();
    close(fd);
}

static enum action action_named(const char *text)
{
    static const char *const names[] = {"", "kill", "stop", "pause", "cut"};
    for (int i = KILL; i <= CUT; i++)
        if (strcmp(text, names[i]) == 0)
            return (enum action)i;
    abort();
}

/* The action armed for this pass of the point. */
static enum action armed(const char *name)
{
    char path[256], reached[256], text[512], *rest = text;
    int fd = at_folder(path, "arm") != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return NOTHING;
    if (access(at_folder(reached, "reached"), F_OK) == 0) {
        close(fd);
        counted = 0;
        return NOTHING;
    }
    ssize_t len = read(fd, text, sizeof text - 1);
    close(fd);
    text[len > 0 ? len : 0] = '\0';
    const char *action = strsep(&rest, "\n"), *wanted = strsep(&rest, "\n");
    if (wanted == NULL || rest == NULL || strcmp(wanted, name) != 0)
        return NOTHING;
    if (strcmp(counted_name, name) != 0) {
        snprintf(counted_name, sizeof counted_name, "%s", name);
        counted = 0;
    }
    if (++counted < atoi(rest))
        return NOTHING;
    counted = 0;
    fd = open(reached, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); /* a confined process cannot rename */
    if (fd < 0)
        return NOTHING; /* another process was first */
    close(fd);
    return action_named(action);
}

static enum action pass(const char *name)
{
    pthread_mutex_lock(&mutex);
    trace(name);
    enum action action = armed(name);
    pthread_mutex_unlock(&mutex);
    return action;
}

/* Acts at a point of a socket. */
static void act(enum action action, int fd)
{
    if (action == KILL || action == STOP || action == PAUSE)
        raise(action == KILL ? SIGKILL : SIGSTOP);
    if (action == CUT)
        shutdown(fd, SHUT_RDWR);
}

/* ---- the database */

static struct statement {
    const PGconn *conn;
    char name[32], words[STATEMENT_CHARS + 1];
} statements[STATEMENTS_MAX];

static void words_of(const char *sql, char out[static STATEMENT_CHARS + 1])
{
    size_t len = 0;
    for (; *sql != '\0' && len < STATEMENT_CHARS; sql++)
        if (!isspace((unsigned char)*sql))
            out[len++] = *sql;
        else if (len > 0 && out[len - 1] != ' ')
            out[len++] = ' ';
    while (len > 0 && out[len - 1] == ' ')
        len--;
    out[len] = '\0';
}

static void remember(const PGconn *conn, const char *name, const char *sql)
{
    struct statement *at = NULL;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < STATEMENTS_MAX && at == NULL; i++)
        if (statements[i].conn == NULL ||
            (statements[i].conn == conn && strcmp(statements[i].name, name) == 0))
            at = &statements[i];
    if (at == NULL)
        abort();
    at->conn = conn;
    snprintf(at->name, sizeof at->name, "%s", name);
    words_of(sql, at->words);
    pthread_mutex_unlock(&mutex);
}

static void recall(const PGconn *conn, const char *name, char out[static STATEMENT_CHARS + 1])
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < STATEMENTS_MAX; i++)
        if (statements[i].conn == conn && strcmp(statements[i].name, name) == 0)
            strcpy(out, statements[i].words);
    pthread_mutex_unlock(&mutex);
}

static void flush(PGconn *conn)
{
    while (PQflush(conn) == 1)
        poll(&(struct pollfd){.fd = PQsocket(conn), .events = POLLOUT}, 1, SETTLE_MS);
}

/* Not the name of a statement: stands for the last one that was sent. */
#define LAST_SENT "\1last"

/* act() after what was sent so far. after: the point of a round trip, named after its last statement. */
static void point(PGconn *conn, const char *what, const char *after)
{
    char name[NAME_SIZE];
    const char *session = PQparameterStatus(conn, "application_name");
    snprintf(name, sizeof name, "%s: %s%s%s", session != NULL ? session : "?", what,
        after[0] ? " after " : "", after);
    enum action action = pass(name);
    if (action == NOTHING)
        return;
    if (action != PAUSE)
        flush(conn);
    if (strcmp(what, "answers") == 0)
        poll(&(struct pollfd){.fd = PQsocket(conn), .events = POLLIN}, 1, ANSWER_MS);
    if (strcmp(what, "read") != 0)
        poll(NULL, 0, SETTLE_MS);
    act(action, PQsocket(conn));
}

static void statement_point(PGconn *conn, const char *sql)
{
    char words[STATEMENT_CHARS + 1];
    remember(conn, LAST_SENT, sql);
    words_of(sql, words);
    point(conn, words, "");
}

static void round_trip_point(PGconn *conn, const char *what)
{
    char last[STATEMENT_CHARS + 1] = "?";
    recall(conn, LAST_SENT, last);
    point(conn, what, last);
}

int PQsendPrepare(PGconn *conn, const char *stmtName, const char *query, int nParams, const Oid *paramTypes)
{
    remember(conn, stmtName, query);
    return NEXT(PQsendPrepare)(conn, stmtName, query, nParams, paramTypes);
}

int PQsendQueryPrepared(PGconn *conn, const char *stmtName, int nParams, const char *const *paramValues,
    const int *paramLengths, const int *paramFormats, int resultFormat)
{
    char words[STATEMENT_CHARS + 1] = "?";
    recall(conn, stmtName, words);
    statement_point(conn, words);
    return NEXT(PQsendQueryPrepared)(
        conn, stmtName, nParams, paramValues, paramLengths, paramFormats, resultFormat);
}

int PQsendQueryParams(PGconn *conn, const char *command, int nParams, const Oid *paramTypes,
    const char *const *paramValues, const int *paramLengths, const int *paramFormats, int resultFormat)
{
    statement_point(conn, command);
    return NEXT(PQsendQueryParams)(
        conn, command, nParams, paramTypes, paramValues, paramLengths, paramFormats, resultFormat);
}

int PQpipelineSync(PGconn *conn)
{
    round_trip_point(conn, "sync");
    int sent = NEXT(PQpipelineSync)(conn);
    round_trip_point(conn, "answers");
    return sent;
}

PGresult *PQgetResult(PGconn *conn)
{
    PGresult *result = NEXT(PQgetResult)(conn);
    if (result != NULL && PQresultStatus(result) == PGRES_PIPELINE_SYNC)
        round_trip_point(conn, "read");
    return result;
}

/* ---- the key process, responses to clients, and transactions to an RPC */

static bool is_unix(int fd)
{
    int domain = 0;
    socklen_t len = sizeof domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

/* Bytes that begin with the frame header of src/keys/wire.h: length and type, both big endian. NULL: others.
 */
static const char *message_of(const uint8_t *header, size_t len)
{
    static const char *const names[] = {
        NULL, "ready", "load", "generate", "leases", "fee bumps", "provisioning"};
    if (len < 8 || header[4] != 0 || header[5] != 0 || header[6] != 0 ||
        header[7] >= sizeof names / sizeof names[0])
        return NULL;
    return names[header[7]];
}

/* Names what the bytes begin: a message to keyd, the head of a response, or a whole call of an RPC. False:
 * none of these. has_end: what follows it is a point, too. */
static bool name_of(int fd, const void *data, size_t len, char name[static NAME_SIZE], bool *has_end)
{
    const char *message = is_unix(fd) ? message_of(data, len) : NULL;
    int status;
    *has_end = message == NULL;
    if (message != NULL)
        snprintf(name, NAME_SIZE, "keyd: %s", message);
    else if (len > 5 && memcmp(data, "POST ", 5) == 0 && memmem(data, len, "\"sendTransaction\"", 17) != NULL)
        snprintf(name, NAME_SIZE, "rpc: sendTransaction");
    else if (len > 12 && memcmp(data, "HTTP/1.1 ", 9) == 0 &&
             sscanf((const char *)data + 9, "%3d", &status) == 1)
        snprintf(name, NAME_SIZE, "reply %d", status);
    else
        return false;
    return true;
}

static void after_sending(int fd, char name[static NAME_SIZE])
{
    strcat(name, " sent");
    act(pass(name), fd);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    char name[NAME_SIZE];
    bool has_end;
    if (!name_of(fd, data, len, name, &has_end))
        return NEXT(send)(fd, data, len, flags);
    act(pass(name), fd);
    ssize_t sent = NEXT(send)(fd, data, len, flags);
    if (has_end)
        after_sending(fd, name);
    return sent;
}

/* The first part is the header of a message to keyd, or the head of a response. */
ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    char name[NAME_SIZE];
    bool has_end;
    if (message->msg_iovlen == 0 ||
        !name_of(fd, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, name, &has_end))
        return NEXT(sendmsg)(fd, message, flags);
    act(pass(name), fd);
    ssize_t sent = NEXT(sendmsg)(fd, message, flags);
    if (has_end)
        after_sending(fd, name);
    return sent;
}

ssize_t recv(int fd, void *data, size_t len, int flags)
{
    ssize_t got = NEXT(recv)(fd, data, len, flags);
    const char *message = len == 8 && got == 8 && is_unix(fd) ? message_of(data, 8) : NULL;
    if (message != NULL) {
        char name[NAME_SIZE];
        snprintf(name, sizeof name, "keyd: %s answered", message);
        act(pass(name), fd);
    }
    return got;
}
