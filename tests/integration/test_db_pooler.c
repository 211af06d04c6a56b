/*
 * DL13: pooled connections through PgBouncer in transaction mode, where each transaction may run in another
 * server session. Skipped when there is no pgbouncer (FAIRWAY_PGBOUNCER, else the PATH).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"
#include "support/pg.h"

#define CLIENTS 8

static struct test_db database;
static struct detail detail;
static char folder[] = "/tmp/fairway-pgbouncer-XXXXXX";
static pid_t pooler;
static char *url; /* through the pooler */

static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void put(const char *name, const char *text)
{
    AUTO_FREE char *path = mem_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0644), 0); /* pgbouncer does not run as root */
}

/* The password in the server's URL, "postgresql://fairway:PASSWORD@...". */
static char *password(void)
{
    const char *at = strchr(strstr(test_pg_url(), "://") + 3, ':') + 1;
    return mem_format("%.*s", (int)strcspn(at, "@"), at);
}

static void write_configuration(unsigned port)
{
    AUTO_FREE char *secret = password();
    AUTO_FREE char *users = mem_format("\"fairway\" \"%s\"\n", secret);
    AUTO_FREE char *settings =
        mem_format("[databases]\n* = host=127.0.0.1 port=%u\n[pgbouncer]\npool_mode = transaction\n"
                   "listen_addr = 127.0.0.1\nlisten_port = %u\nunix_socket_dir =\nauth_type = scram-sha-256\n"
                   "auth_file = %s/users\ndefault_pool_size = 2\nserver_reset_query =\n",
            test_pg_port(), port, folder);
    put("users", users);
    put("ini", settings);
    url = mem_format("postgresql://fairway:%s@127.0.0.1:%u/%s", secret, port, database.name);
}

static void start_pooler(void)
{
    const char *program = getenv("FAIRWAY_PGBOUNCER");
    AUTO_FREE char *ini = mem_format("%s/ini", folder);
    pooler = fork();
    if (pooler != 0)
        return;
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(127);
    program = program != NULL ? program : "pgbouncer";
    execlp(program, program, "-q", "-u", "nobody", ini, (char *)NULL);
    _exit(127);
}

static int open_database(void **state)
{
    test_pg_start(state);
    database = test_db_new(TEST_DB_EMPTY);
    test_db_exec(&database, "CREATE TABLE public.t (n int8 PRIMARY KEY, v int8)");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    write_configuration(free_port());
    start_pooler();
    return 0;
}

static int close_database(void **state)
{
    AUTO_FREE char *remove = mem_format("rm -rf '%s'", folder);
    if (pooler > 0) {
        kill(pooler, SIGKILL);
        waitpid(pooler, NULL, 0);
    }
    free(url);
    test_db_drop(&database);
    return system(remove) + test_pg_stop(state);
}

static struct db *client(void)
{
    int status;
    clock_sleep_ms(100);
    if (pooler > 0 && waitpid(pooler, &status, WNOHANG) == pooler && WEXITSTATUS(status) == 127)
        pooler = -1;
    if (pooler < 0)
        skip();
    struct db *db = db_new(&(struct db_settings){.url = url, .kind = DB_POOLED, .name = "fairway pooled"});
    const int64_t deadline_ms = clock_ms() + slower(10000);
    while (db_connect(db, &detail) != ERR_OK && clock_left_ms(deadline_ms) > 0)
        clock_sleep_ms(50);
    assert_int_equal(db_connect(db, &detail), ERR_OK);
    return db;
}

static void DL13_many_clients_share_few_sessions(void **state)
{
    (void)state;
    struct db *clients[CLIENTS] = {client()};
    for (size_t i = 1; i < CLIENTS; i++)
        clients[i] = client();
    for (int64_t round = 0; round < 20; round++)
        for (size_t i = 0; i < CLIENTS; i++) {
            AUTO_ROWS rows = NULL;
            const int64_t n = round * CLIENTS + (int64_t)i;
            assert_int_equal(db_begin(clients[i], &detail), ERR_OK);
            assert_int_equal(
                db_query(clients[i], DB_SQL("INSERT INTO public.t VALUES ($1, $2)", DB_I64(n), DB_NONE), NULL,
                    &detail),
                ERR_OK);
            assert_int_equal(db_commit(clients[i], &detail), ERR_OK);
            assert_int_equal(db_query(clients[i], DB_SQL("SELECT n FROM public.t WHERE n = $1", DB_I64(n)),
                                 &rows, &detail),
                ERR_OK);
            assert_true(db_i64(rows, 0, 0) == n);
        }
    assert_int_equal(test_db_number(&database, "SELECT count(*) FROM public.t"), 20 * CLIENTS);
    assert_true(
        test_db_number(&database, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                                  " AND pid <> pg_backend_pid()") <= 2);
    for (size_t i = 0; i < CLIENTS; i++)
        db_free(clients[i]);
}

static void DL13_each_client_has_its_own_limits_in_a_shared_session(void **state)
{
    (void)state;
    struct db *db = client();
    const struct db_statement show =
        DB_SQL0("SELECT current_setting('statement_timeout'), current_setting('search_path')");
    AUTO_ROWS rows = NULL;
    assert_int_equal(db_query(db, show, &rows, &detail), ERR_OK);
    assert_string_equal(db_text(rows, 0, 0), "5s");
    assert_string_equal(db_text(rows, 0, 1), "pg_catalog, pg_temp");
    struct db *second = db_new(&(struct db_settings){
        .url = url, .kind = DB_POOLED, .name = "fairway other", .statement_timeout_ms = 1234});
    AUTO_ROWS other = NULL;
    assert_int_equal(db_query(second, show, &other, &detail), ERR_OK);
    assert_string_equal(db_text(other, 0, 0), "1234ms");
    db_free(second);
    db_free(db);
}

static void a_session_is_usable_by_the_next_client_after_an_error(void **state)
{
    (void)state;
    struct db *db = client();
    assert_int_equal(db_begin(db, &detail), ERR_OK);
    assert_int_equal(db_query(db, DB_SQL0("SELECT 1 / 0"), NULL, &detail), ERR_INTERNAL);
    db_rollback(db);
    assert_int_equal(
        db_query(db, DB_SQL0("INSERT INTO public.t VALUES (NULL, 1)"), NULL, &detail), ERR_CONSTRAINT);
    assert_int_equal(db_query(db, DB_SQL0("SELECT 1"), NULL, &detail), ERR_OK);
    db_free(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DL13_many_clients_share_few_sessions),
        cmocka_unit_test(DL13_each_client_has_its_own_limits_in_a_shared_session),
        cmocka_unit_test(a_session_is_usable_by_the_next_client_after_an_error),
    };
    return cmocka_run_group_tests_name("db pooler", tests, open_database, close_database);
}
