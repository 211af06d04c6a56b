#include "pg.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "../../../src/db/session.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "db/migrate.h"
#include "slowness.h"

/* CREATE and DROP DATABASE write many files, which is slow when the disk is busy. */
#define SCRIPT_TIMEOUT_MS 60000
#define CONNECT_S 60 /* a busy machine */
#define CHILDREN_MAX 512

/* Tests run from the top folder. */
#define PG_SH "tests/integration/support/pg.sh"

static char *server_url; /* NULL: not started */
static char *server_dir; /* NULL: shared */
static struct test_db template;
static unsigned databases;

/* The connection of test_db_number. Tests poll with it, and to connect takes more CPU time than most queries.
 */
static struct db *reader;
static char *reader_url;
static pthread_mutex_t reader_lock = PTHREAD_MUTEX_INITIALIZER;

static _Noreturn void give_up(const char *what, const char *why)
{
    fprintf(stderr, "test PostgreSQL: %s: %s\n", what, why);
    exit(1);
}

static void close_reader(void)
{
    pthread_mutex_lock(&reader_lock);
    db_free(reader);
    free(reader_url);
    reader = NULL;
    reader_url = NULL;
    pthread_mutex_unlock(&reader_lock);
}

/* Returns the last line that the command prints. */
static char *output_of(const char *command)
{
    char line[512] = "";
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        give_up(command, strerror(errno));
    while (fgets(line, sizeof line, pipe) != NULL)
        line[strcspn(line, "\n")] = '\0';
    if (pclose(pipe) != 0)
        give_up(command, "failed");
    return mem_copy_text(line);
}

static void start_server(void)
{
    AUTO_FREE char *command = mem_format("sh " PG_SH " start '%s' %d", server_dir, (int)getpid());
    free(server_url);
    server_url = output_of(command);
}

int test_pg_start_private(void **state)
{
    if (log_set_level("warn") != ERR_OK)
        give_up("log", "unknown level");
    char folder[] = "/tmp/fairway-pg-XXXXXX";
    if (mkdtemp(folder) == NULL)
        give_up(folder, strerror(errno));
    server_dir = mem_copy_text(folder);
    start_server();
    return 0;
}

int test_pg_start(void **state)
{
    const char *shared = getenv("FAIRWAY_TEST_PG_URL");
    if (shared == NULL || shared[0] == '\0')
        return test_pg_start_private(state);
    server_url = mem_copy_text(shared);
    return 0;
}

int test_pg_stop(void **state)
{
    close_reader();
    if (template.url != NULL)
        test_db_drop(&template);
    if (server_dir != NULL) {
        AUTO_FREE char *command =
            mem_format("sh " PG_SH " stop '%s' immediate && rm -rf '%s'", server_dir, server_dir);
        free(output_of(command));
    }
    free(server_dir);
    free(server_url);
    server_dir = server_url = NULL;
    return 0;
}

const char *test_pg_url(void)
{
    return server_url;
}

unsigned test_pg_port(void)
{
    const char *at = strrchr(server_url, ':');
    return (unsigned)strtoul(at + 1, NULL, 10);
}

/* Returns the server's URL with another database instead of "/postgres". */
static char *url_of(const char *database)
{
    const char *slash = strrchr(server_url, '/');
    return mem_format("%.*s/%s", (int)(slash - server_url), server_url, database);
}

static struct db *connection(const char *url)
{
    return db_new(&(struct db_settings){.url = url, .name = "fairway test", .connect_timeout_s = CONNECT_S});
}

static void exec(const char *url, const char *sql)
{
    struct detail detail = {""};
    close_reader(); /* the SQL may drop its database, or change the settings of new sessions */
    AUTO_DB db = db_new(&(struct db_settings){.url = url,
        .name = "fairway test",
        .connect_timeout_s = CONNECT_S,
        .statement_timeout_ms = SCRIPT_TIMEOUT_MS});
    if (session_run_script(db, sql, SCRIPT_TIMEOUT_MS, &detail) != ERR_OK)
        give_up(sql, detail.text);
}

/* As docker/roles.sql, for a superuser who migrates. */
static const char sql_role[] =
    "DO $$ BEGIN CREATE ROLE fairway LOGIN PASSWORD 'serve'; EXCEPTION WHEN duplicate_object THEN END $$;"
    "ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO fairway;"
    "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO fairway;"
    "ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO fairway";

static void migrate_template(void)
{
    struct detail detail = {""};
    size_t applied;
    template = test_db_new(TEST_DB_EMPTY);
    exec(template.url, sql_role);
    struct db *db = connection(template.url);
    if (migrate(db, &embedded_schema, &applied, &detail) != ERR_OK)
        give_up("migrate", detail.text);
    db_free(db);
    exec(template.url, "VACUUM (ANALYZE)"); /* so empty tables have statistics, as in production */
}

struct test_db test_db_new(enum test_db_kind kind)
{
    struct test_db db;
    if (kind == TEST_DB_MIGRATED && template.url == NULL)
        migrate_template();
    snprintf(db.name, sizeof db.name, "test_%d_%u", (int)getpid(), ++databases);
    AUTO_FREE char *create = mem_format(
        "CREATE DATABASE %s TEMPLATE %s", db.name, kind == TEST_DB_MIGRATED ? template.name : "template0");
    exec(server_url, create);
    db.url = url_of(db.name);
    db.serve_url = mem_format("postgresql://fairway:serve@127.0.0.1:%u/%s", test_pg_port(), db.name);
    return db;
}

void test_db_drop(struct test_db *db)
{
    AUTO_FREE char *drop = mem_format("DROP DATABASE IF EXISTS %s WITH (FORCE)", db->name);
    exec(server_url, drop);
    free(db->url);
    free(db->serve_url);
    db->url = db->serve_url = NULL;
}

struct db *test_db_open(const struct test_db *db)
{
    return connection(db->url);
}

void test_db_free_at(struct db **db)
{
    db_free(*db);
}

char *test_db_url_through(const struct test_db *db, unsigned port)
{
    const char *colon = strrchr(db->url, ':'), *path = strrchr(db->url, '/');
    return mem_format("%.*s:%u%s", (int)(colon - db->url), db->url, port, path);
}

struct db *test_db_open_through(const struct test_db *db, unsigned port)
{
    AUTO_FREE char *url = test_db_url_through(db, port);
    return connection(url);
}

void test_db_exec(const struct test_db *db, const char *sql)
{
    exec(db->url, sql);
}

static enum err read_number(struct db *db, const char *sql, int64_t *number, struct detail *detail)
{
    AUTO_ROWS rows = NULL;
    enum err e = db_query(db, DB_SQL0(sql), &rows, detail);
    if (e == ERR_OK && db_count(rows) != 1)
        give_up(sql, "not one row");
    if (e == ERR_OK)
        *number = db_i64(rows, 0, 0);
    return e;
}

/* Returns false when another thread uses the connection, or when the query fails, for example because the
 * connection was lost. */
static bool read_again(const struct test_db *db, const char *sql, int64_t *number)
{
    if (pthread_mutex_trylock(&reader_lock) != 0)
        return false;
    if (reader_url == NULL || strcmp(reader_url, db->url) != 0) {
        db_free(reader);
        free(reader_url);
        reader = connection(db->url);
        reader_url = mem_copy_text(db->url);
    }
    const bool done = read_number(reader, sql, number, NULL) == ERR_OK;
    pthread_mutex_unlock(&reader_lock);
    return done;
}

int64_t test_db_number(const struct test_db *db, const char *sql)
{
    struct detail detail = {0};
    int64_t number = 0;
    if (read_again(db, sql, &number))
        return number;
    AUTO_DB one = connection(db->url);
    if (read_number(one, sql, &number, &detail) != ERR_OK)
        give_up(sql, detail.text);
    return number;
}

bool test_db_await_lock_wait(const struct test_db *db, int64_t ms)
{
    static const char sql[] = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                              " AND datname = current_database()";
    for (int64_t end_ms = clock_ms() + ms; clock_left_ms(end_ms) > 0; clock_sleep_ms(5))
        if (test_db_number(db, sql) > 0)
            return true;
    return false;
}

static pid_t postmaster(void)
{
    if (server_dir == NULL)
        give_up("signal", "the server is shared");
    AUTO_FREE char *path = mem_format("%s/data/postmaster.pid", server_dir);
    FILE *file = fopen(path, "r");
    int pid = 0;
    if (file == NULL || fscanf(file, "%d", &pid) != 1)
        give_up(path, "unreadable");
    fclose(file);
    return pid;
}

/* Returns the parent of a process from /proc/PID/stat, whose second field, the name, is in parentheses; 0
 * when the process has ended. */
static pid_t parent_of(const char *pid)
{
    AUTO_FREE char *path = mem_format("/proc/%s/stat", pid);
    char line[512];
    int parent = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    const char *name_end = fgets(line, sizeof line, file) == NULL ? NULL : strrchr(line, ')');
    if (name_end == NULL || sscanf(name_end, ") %*c %d", &parent) != 1)
        parent = 0;
    fclose(file);
    return parent;
}

static size_t children_of(pid_t parent, pid_t children[CHILDREN_MAX])
{
    size_t count = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *entry; processes != NULL && (entry = readdir(processes)) != NULL;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == parent &&
            count < CHILDREN_MAX)
            children[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    closedir(processes);
    return count;
}

static void signal_all(int number)
{
    pid_t children[CHILDREN_MAX], parent = postmaster();
    kill(parent, number); /* first: a stopped process starts no further children */
    size_t count = children_of(parent, children);
    for (size_t i = 0; i < count; i++)
        kill(children[i], number);
}

void test_pg_kill(void)
{
    pid_t children[CHILDREN_MAX], parent = postmaster();
    size_t count = children_of(parent, children);
    kill(parent, SIGKILL);
    for (size_t i = 0; i < count; i++) /* they would end later; until then they use the data */
        kill(children[i], SIGKILL);
    for (int64_t deadline_ms = clock_ms() + slower(10000);
         kill(parent, 0) == 0 && clock_left_ms(deadline_ms) > 0;)
        clock_sleep_ms(5);
}

void test_pg_restart(void)
{
    start_server();
}

void test_pg_freeze(void)
{
    signal_all(SIGSTOP);
}

void test_pg_thaw(void)
{
    signal_all(SIGCONT);
}

static char *read_text(const char *path)
{
    char *text = mem_new(1 << 16, 1);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        give_up("open", path);
    text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
    fclose(file);
    return text;
}

size_t test_db_broken_rules(struct db *db)
{
    AUTO_ROWS rows = NULL;
    AUTO_FREE char *text = read_text("tests/assertions.sql");
    *strrchr(text, ';') = '\0';
    struct detail detail = {0};
    if (db_query(db, (struct db_statement){text, NULL, 0}, &rows, &detail) != ERR_OK)
        give_up("tests/assertions.sql", detail.text);
    for (size_t row = 0; row < db_count(rows); row++)
        fprintf(stderr, "%s: %s\n", db_text(rows, row, 0), db_text(rows, row, 1));
    return db_count(rows);
}
