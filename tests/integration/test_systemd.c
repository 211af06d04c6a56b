/* `fairway serve` under a service manager (Type=notify), and `fairway health`: the program itself, with a
 * database and an RPC that has no ledgers. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/mem.h"
#include "slowness.h"
#include "support/pg.h"
#include "unit/rpc/fake_rpc.h"

#define PATIENCE_MS 15000

static struct test_db database;
static char folder[] = "/tmp/fairway-systemd-XXXXXX";
static struct fake_rpc *rpc;
static int manager; /* receives the notifications */
static char port[8];

static int start(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    test_pg_start(state);
    database = test_db_new(TEST_DB_MIGRATED);
    assert_non_null(mkdtemp(folder));
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", folder);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(manager, (struct sockaddr *)&address, sizeof address), 0);
    snprintf(port, sizeof port, "%d", 20000 + getpid() % 12000);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    setenv("DATABASE_URL", database.url, 1);
    setenv("NETWORK_PASSPHRASE", "Standalone Network ; February 2017", 1);
    setenv("CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE", "a passphrase of this test", 1);
    /* the seed of that network's root account, which everybody knows */
    setenv("DISTRIBUTION_ACCOUNT_PRIVATE_KEY", "SC5O7VZUXDJ6JBDSZ74DSERXL7W3Y5LTOAMRF7RQRL3TAGAPS7LUVG3L", 1);
    assert_int_equal(fake_start((void **)&rpc), 0);
    AUTO_FREE char *url = fake_url(rpc);
    setenv("RPC_URL", url, 1);
    fake_set_reply(rpc, 0,
        (struct fake_reply){.method = "getNetwork",
            .body = FAKE_RESULT(
                "{\"passphrase\":\"Standalone Network ; February 2017\",\"protocolVersion\":25}")});
    fake_set_reply(rpc, 1, (struct fake_reply){.status = 503});
    setenv("AUTH", "none", 1);
    setenv("LISTEN", "127.0.0.1", 1);
    setenv("PORT", "0", 1);
    setenv("ADMIN_PORT", port, 1);
    return 0;
}

static int stop(void **state)
{
    fake_stop((void **)&rpc);
    close(manager);
    unlink(getenv("NOTIFY_SOCKET"));
    rmdir(folder);
    test_db_drop(&database);
    return test_pg_stop(state);
}

static pid_t run(const char *command, const char *argument)
{
    const char *program = getenv("FAIRWAY_BIN") != NULL ? getenv("FAIRWAY_BIN") : "build/release/fairway";
    pid_t pid = fork();
    if (pid == 0) {
        execl(program, "fairway", command, argument, NULL);
        _exit(127);
    }
    return pid;
}

static int exit_code(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_notification(const char *state)
{
    char text[64] = "";
    struct pollfd socket = {.fd = manager, .events = POLLIN};
    assert_int_equal(poll(&socket, 1, (int)slower(PATIENCE_MS)), 1);
    assert_true(recv(manager, text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, state);
}

TEST(serve_notifies_its_manager_when_it_is_ready_and_when_it_stops)
{
    pid_t serve = run("serve", NULL);
    expect_notification("READY=1");
    assert_int_equal(exit_code(run("health", "live")), 0); /* it listens by then */
    assert_int_equal(exit_code(run("health", NULL)), 1);   /* no ledger, no account: not ready */
    assert_int_equal(exit_code(run("health", "soon")), 64);
    kill(serve, SIGTERM);
    expect_notification("STOPPING=1");
    assert_int_equal(exit_code(serve), 0);
    assert_int_equal(exit_code(run("health", "live")), 1);
}

TEST(serve_runs_although_its_manager_is_gone)
{
    AUTO_FREE char *path = mem_copy_text(getenv("NOTIFY_SOCKET"));
    setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1);
    pid_t serve = run("serve", NULL);
    setenv("NOTIFY_SOCKET", path, 1);
    int waits = (int)slower(PATIENCE_MS) / 100;
    while (exit_code(run("health", "live")) != 0 && waits-- > 0)
        usleep(100000);
    kill(serve, SIGTERM);
    assert_int_equal(exit_code(serve), 0);
    assert_true(waits > 0);
}

GROUP_FIXTURE(start, stop)
