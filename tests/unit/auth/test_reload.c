/* Rules of auth/auth.h: the clients' file is read again while requests are judged. Runs under ThreadSanitizer
 * too. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "auth/auth.h"
#include "auth/token_sign.h"
#include "base/mem.h"

#define NOW 1800000000
#define CHECKERS 3
#define RELOADS 100

static char folder[] = "/tmp/fairway-reload-XXXXXX";
static char *path;
static char addresses[2][ADDRESS_SIZE];
static char *headers[2]; /* of a request by each client */
static struct auth *auth;

static void write_text(const char *to, const char *text)
{
    FILE *file = fopen(to, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
        abort();
}

/* Replaces the file by one with these clients, as an operator does. */
static void replace(const char *text)
{
    AUTO_FREE char *fresh = mem_format("%s/fresh", folder);
    write_text(fresh, text);
    if (rename(fresh, path) != 0)
        abort();
}

/* The file's text with the first `count` clients. */
static char *clients_text(size_t count)
{
    return count == 0   ? mem_copy_text("{}")
           : count == 1 ? mem_format("{\"a\": {\"keys\": [\"%s\"]}}", addresses[0])
                        : mem_format("{\"a\": {\"keys\": [\"%s\"]}, \"b\": {\"keys\": [\"%s\"]}}",
                              addresses[0], addresses[1]);
}

static void replace_clients(size_t count)
{
    AUTO_FREE char *text = clients_text(count);
    replace(text);
}

static enum err open_auth(struct auth **out, struct detail *detail)
{
    const struct auth_settings settings = {.clients_file = path};
    return auth_open(&settings, out, detail);
}

static int set_up(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        const struct token_request asked = {"GET", "/v1/pool", {0}, NULL, NULL, NOW, AUTH_WINDOW_MAX_S};
        char seed[ADDRESS_SIZE], *token;
        token_key_new(seed, addresses[i]);
        if (token_sign(seed, &asked, &token) != ERR_OK)
            return -1;
        headers[i] = mem_format("Bearer %s", token);
        free(token);
    }
    replace_clients(2);
    return open_auth(&auth, NULL) == ERR_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    auth_free(auth);
    for (size_t i = 0; i < 2; i++)
        free(headers[i]);
    return unlink(path);
}

static enum err check(size_t i)
{
    struct auth_client client;
    const struct auth_request request = {.method = "GET",
        .target = "/v1/pool",
        .authorization = headers[i],
        .audience = "x",
        .scope = AUTH_POOL,
        .now_s = NOW};
    return auth_check(auth, &request, &client, NULL);
}

static void reload(void)
{
    struct detail detail = {0};
    if (auth_reload(auth, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static void refused(const char *says)
{
    struct detail detail = {0};
    assert_int_equal(auth_reload(auth, &detail), ERR_CONFIG);
    if (strstr(detail.text, says) == NULL)
        fail_msg("%s: %s", says, detail.text);
    assert_int_equal(check(0), ERR_OK); /* the clients before stay */
    assert_int_equal(auth_key_count(auth), 2);
}

TEST_WITH(DA3_without_any_client_it_does_not_start, set_up, tear_down)
{
    struct auth *none = NULL;
    struct detail detail = {0};
    replace_clients(0);
    assert_int_equal(open_auth(&none, &detail), ERR_CONFIG);
    assert_non_null(strstr(detail.text, "there is no client"));
}

TEST_WITH(DA4_a_file_that_says_so_revokes_the_last_client, set_up, tear_down)
{
    replace_clients(1);
    assert_true(auth_changed(auth));
    reload();
    assert_false(auth_changed(auth));
    assert_int_equal(check(0), ERR_OK);
    assert_int_equal(check(1), ERR_UNAUTHORIZED);
    replace_clients(0);
    reload();
    assert_int_equal(auth_key_count(auth), 0);
    assert_int_equal(check(0), ERR_UNAUTHORIZED);
    replace_clients(2);
    reload();
    assert_int_equal(check(0), ERR_OK);
    assert_int_equal(check(1), ERR_OK);
}

TEST_WITH(a_request_says_whether_its_client_is_alone, set_up, tear_down)
{
    for (size_t count = 2; count > 0; count--) {
        struct auth_client client;
        const struct auth_request request = {.method = "GET",
            .target = "/v1/pool",
            .authorization = headers[0],
            .audience = "x",
            .scope = AUTH_POOL,
            .now_s = NOW};
        replace_clients(count);
        reload();
        assert_int_equal(auth_check(auth, &request, &client, NULL), ERR_OK);
        assert_int_equal(client.others, count > 1);
    }
}

/* The head was accepted before, its body comes later. */
TEST_WITH(DA4_a_key_that_is_revoked_while_the_body_arrives_is_refused, set_up, tear_down)
{
    struct auth_client client;
    const struct auth_request request = {.method = "GET",
        .target = "/v1/pool",
        .authorization = headers[1],
        .audience = "x",
        .scope = AUTH_POOL,
        .now_s = NOW};
    assert_int_equal(auth_check(auth, &request, &client, NULL), ERR_OK);
    assert_int_equal(auth_check_body(auth, &client, (struct bytes){0}, NULL), ERR_OK);
    replace_clients(1);
    reload();
    assert_int_equal(auth_check_body(auth, &client, (struct bytes){0}, NULL), ERR_UNAUTHORIZED);
    assert_true(client.reason_hidden);
}

TEST_WITH(DA3_a_file_that_cannot_be_used_changes_nothing, set_up, tear_down)
{
    AUTO_FREE char *whole = clients_text(2);
    AUTO_FREE char *cut = mem_format("%.*s", (int)strlen(whole) - 1, whole);
    static const char *const bad[] = {"", " \n", "[]", "null", "{\"a\": {}}", "{} ,"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        replace(bad[i]);
        refused("CLIENTS_FILE: ");
    }
    replace(cut); /* it is being written */
    refused("not JSON");
    AUTO_FREE char *large = NEW_ARRAY((1 << 20) + 2, char);
    memset(large, ' ', (1 << 20) + 1);
    memcpy(large, whole, strlen(whole));
    replace(large);
    refused("larger than");
    chmod(path, 0666);
    refused("0644");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused("not a regular file");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    refused("CLIENTS_FILE: ");
    rmdir(path);
    replace_clients(2);
    reload();
}

TEST_WITH(DA4_a_file_that_is_missing_is_looked_for_until_it_is_back, set_up, tear_down)
{
    unlink(path);
    for (int i = 0; i < 3; i++) {
        assert_true(auth_changed(auth));
        refused("cannot read");
    }
    replace_clients(1);
    assert_true(auth_changed(auth));
    reload();
    assert_false(auth_changed(auth));
    assert_int_equal(auth_key_count(auth), 1);
}

/* The size stays, and the modification time is set back. */
TEST_WITH(DA4_a_change_in_place_is_seen_whatever_the_times_say, set_up, tear_down)
{
    struct stat before;
    assert_int_equal(stat(path, &before), 0);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fputs("{\"z", file);
    fclose(file);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    assert_int_equal(utimensat(-1, path, times, 0), 0);
    assert_true(auth_changed(auth));
}

/* As Kubernetes replaces the files of a volume: a symbolic link to a directory is exchanged. */
TEST_WITH(DA4_an_exchanged_symbolic_link_is_seen, set_up, tear_down)
{
    struct auth *usual = auth;
    char *usual_path = path;
    AUTO_FREE char *data = mem_format("%s/..data", folder), *next = mem_format("%s/..data_tmp", folder),
                   *file = mem_format("%s/clients.json", folder);
    for (size_t i = 1; i <= 2; i++) {
        AUTO_FREE char *version = mem_format("%s/..%zu", folder, i), *text = clients_text(i),
                       *inner = mem_format("%s/clients.json", version);
        assert_int_equal(mkdir(version, 0700), 0);
        write_text(inner, text);
    }
    assert_int_equal(symlink("..2", data), 0);
    assert_int_equal(symlink("..data/clients.json", file), 0);
    path = file;
    assert_int_equal(open_auth(&auth, NULL), ERR_OK);
    assert_int_equal(check(1), ERR_OK);
    assert_false(auth_changed(auth));
    assert_int_equal(symlink("..1", next), 0);
    assert_int_equal(rename(next, data), 0);
    assert_true(auth_changed(auth));
    reload();
    assert_int_equal(check(0), ERR_OK);
    assert_int_equal(check(1), ERR_UNAUTHORIZED);
    auth_free(auth);
    auth = usual;
    path = usual_path;
    for (size_t i = 1; i <= 2; i++) {
        AUTO_FREE char *version = mem_format("%s/..%zu", folder, i),
                       *inner = mem_format("%s/clients.json", version);
        unlink(inner);
        rmdir(version);
    }
    unlink(data);
    unlink(file);
}

/* ---- while requests are judged */

static atomic_bool done;
static atomic_int reloads; /* odd: client 1 is revoked since the last reload that returned */
static atomic_int wrong, checks;

static void *check_all(void *unused)
{
    while (!done) {
        const int before = reloads;
        const enum err e = check(1);
        if (before % 2 == 1 && reloads == before && e == ERR_OK)
            wrong++;
        if (check(0) != ERR_OK)
            wrong++;
        checks++;
    }
    return NULL;
}

TEST_WITH(DA4_a_revoked_key_passes_in_no_thread_after_the_reload_has_returned, set_up, tear_down)
{
    pthread_t checkers[CHECKERS];
    done = false;
    wrong = checks = reloads = 0;
    for (size_t i = 0; i < CHECKERS; i++)
        assert_int_equal(pthread_create(&checkers[i], NULL, check_all, NULL), 0);
    for (int i = 0; i < RELOADS || checks < CHECKERS * 20; i++) {
        reloads += i > 0; /* even */
        replace_clients(2);
        reload();
        replace_clients(1);
        reload();
        reloads++;
        usleep(1000);
    }
    done = true;
    for (size_t i = 0; i < CHECKERS; i++)
        pthread_join(checkers[i], NULL);
    assert_int_equal(wrong, 0);
}

static int make_folder(void **state)
{
    if (mkdtemp(folder) == NULL)
        return -1;
    path = mem_format("%s/clients", folder);
    return 0;
}

static int remove_folder(void **state)
{
    free(path);
    return rmdir(folder);
}

GROUP_FIXTURE(make_folder, remove_folder)
