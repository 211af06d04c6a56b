/*
 * The walls around the key process, seen from outside (DESIGN 3; DS6, DS7): how it ends on each message that
 * should not come, what of it can be reached, and where in memory its secrets are. The system call filter has
 * its own test beside its source.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>
#include <cmocka.h>
#include <sodium.h>

#include "../../src/keys/seal.h"
#include "../../src/keys/server.h"
#include "../../src/keys/spawn.h"
#include "../../src/keys/wire.h"
#include "base/clock.h"
#include "base/mem.h"
#include "support/keyd.h"

#define NOW_S 1800000000u
#define PATIENCE_MS 10000

/* ---- talking to it without its client */

static struct spawned spawn(enum keyd_mode mode)
{
    struct spawned child;
    struct detail detail = {0};
    struct wire_header header;
    struct buf ready = {0};
    struct keyd_secrets secrets = keyd_known_secrets();
    if (spawn_keyd(keyd_program(), mode, &secrets, &child, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(wire_read_header(child.fd, &header, clock_ms() + PATIENCE_MS), WIRE_READ);
    assert_int_equal(header.type, WIRE_READY);
    assert_int_equal(wire_read_payload(child.fd, header.len, &ready, clock_ms() + PATIENCE_MS), WIRE_READ);
    assert_int_equal(be32_get(ready.data), ERR_OK);
    buf_free(&ready);
    return child;
}

static void put_load(struct buf *out)
{
    struct keyd_settings settings = keyd_test_settings();
    struct public_key none = {0};
    buf_add(out, settings.network.bytes, sizeof settings.network.bytes);
    buf_add_u32(out, 0);
    buf_add(out, none.bytes, sizeof none.bytes);
    buf_add_u32(out, settings.limits.base_fee_stroops);
    buf_add_u64(out, (uint64_t)settings.limits.max_resource_fee_stroops);
    buf_add_u64(out, (uint64_t)settings.max_lease_fee_stroops);
    buf_add_u64(out, (uint64_t)settings.max_bump_fee_stroops);
    buf_add_u32(out, 0);
}

static void say(const struct spawned *child, uint32_t type, const struct buf *payload)
{
    assert_true(wire_write(child->fd, type, buf_bytes(payload), clock_ms() + PATIENCE_MS));
}

static void announce(const struct spawned *child, uint32_t type, uint32_t len)
{
    uint8_t header[WIRE_HEADER_SIZE];
    be32_put(header, len);
    be32_put(header + 4, type);
    assert_int_equal(send(child->fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
}

static void hear(const struct spawned *child, uint32_t type)
{
    struct wire_header header;
    struct buf answer = {0};
    assert_int_equal(wire_read_header(child->fd, &header, clock_ms() + PATIENCE_MS), WIRE_READ);
    assert_int_equal(header.type, type);
    assert_int_equal(wire_read_payload(child->fd, header.len, &answer, clock_ms() + PATIENCE_MS), WIRE_READ);
    buf_free(&answer);
}

static void load(const struct spawned *child)
{
    struct buf payload = {0};
    put_load(&payload);
    say(child, WIRE_LOAD, &payload);
    hear(child, WIRE_LOAD);
    buf_free(&payload);
}

/* Its exit code; nothing of an answer may have come before the end. */
static int end_of(struct spawned *child)
{
    struct wire_header header;
    int status;
    shutdown(child->fd, SHUT_WR);
    assert_int_equal(wire_read_header(child->fd, &header, clock_ms() + PATIENCE_MS), WIRE_CLOSED);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->fd);
    close(child->pidfd);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- messages that should not come */

static void end_of_input_is_a_clean_stop(void **state)
{
    (void)state;
    struct spawned child = spawn(KEYD_SERVE);
    assert_int_equal(end_of(&child), EX_OK);
    child = spawn(KEYD_PROVISION);
    load(&child);
    assert_int_equal(end_of(&child), EX_OK);
}

static void DS7_unknown_messages_end_it(void **state)
{
    (void)state;
    const uint32_t unknown[] = {0, WIRE_READY, WIRE_TYPE_COUNT, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        for (int loaded = 0; loaded < 2; loaded++) {
            struct spawned child = spawn(KEYD_SERVE);
            if (loaded)
                load(&child);
            announce(&child, unknown[i], 0);
            assert_int_equal(end_of(&child), VIOLATION_UNKNOWN);
        }
}

static void DS7_messages_of_the_other_mode_end_it(void **state)
{
    (void)state;
    const struct {
        enum keyd_mode mode;
        uint32_t type;
    } forbidden[] = {{KEYD_SERVE, WIRE_GENERATE}, {KEYD_SERVE, WIRE_TEMPLATE}, {KEYD_PROVISION, WIRE_LEASES},
        {KEYD_PROVISION, WIRE_FEE_BUMP}};
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
        struct spawned child = spawn(forbidden[i].mode);
        load(&child);
        announce(&child, forbidden[i].type, 4);
        assert_int_equal(end_of(&child), VIOLATION_MODE);
    }
}

static void DS7_messages_out_of_turn_end_it(void **state)
{
    (void)state;
    struct buf payload = {0};
    const uint32_t serving[] = {WIRE_LEASES, WIRE_FEE_BUMP}, provisioning[] = {WIRE_GENERATE, WIRE_TEMPLATE};
    for (size_t i = 0; i < 2; i++) {
        struct spawned child = spawn(KEYD_SERVE);
        announce(&child, serving[i], 4);
        assert_int_equal(end_of(&child), VIOLATION_TURN);
        child = spawn(KEYD_PROVISION);
        announce(&child, provisioning[i], 4);
        assert_int_equal(end_of(&child), VIOLATION_TURN);
    }
    struct spawned child = spawn(KEYD_SERVE);
    load(&child);
    put_load(&payload);
    say(&child, WIRE_LOAD, &payload);
    assert_int_equal(end_of(&child), VIOLATION_TURN);
    buf_free(&payload);
}

/* The header alone ends it: nothing is allocated or read for the announced payload. */
static void DS7_oversized_messages_end_it(void **state)
{
    (void)state;
    const struct {
        enum keyd_mode mode;
        uint32_t type, len;
    } oversized[] = {{KEYD_SERVE, WIRE_LEASES, WIRE_PAYLOAD_MAX + 1}, {KEYD_SERVE, WIRE_LEASES, UINT32_MAX},
        {KEYD_SERVE, WIRE_FEE_BUMP, KEYD_TRANSACTION_MAX + 257}, {KEYD_PROVISION, WIRE_GENERATE, 5},
        {KEYD_PROVISION, WIRE_TEMPLATE, 4097}};
    for (size_t i = 0; i < ARRAY_LEN(oversized); i++) {
        struct spawned child = spawn(oversized[i].mode);
        load(&child);
        announce(&child, oversized[i].type, oversized[i].len);
        assert_int_equal(end_of(&child), VIOLATION_OVERSIZED);
    }
    struct spawned child = spawn(KEYD_SERVE);
    announce(&child, WIRE_LOAD, 4097);
    assert_int_equal(end_of(&child), VIOLATION_OVERSIZED);
}

static void DS7_every_truncation_of_a_message_ends_it(void **state)
{
    (void)state;
    struct buf payload = {0}, frame = {0};
    put_load(&payload);
    buf_add_u32(&frame, (uint32_t)payload.len);
    buf_add_u32(&frame, WIRE_LOAD);
    buf_add_bytes(&frame, buf_bytes(&payload));
    for (size_t len = 1; len < frame.len; len++) {
        struct spawned child = spawn(KEYD_SERVE);
        assert_int_equal(send(child.fd, frame.data, len, MSG_NOSIGNAL), len);
        assert_int_equal(end_of(&child), VIOLATION_TRUNCATED);
    }
    buf_free(&payload);
    buf_free(&frame);
}

static void DS7_payloads_of_another_shape_end_it(void **state)
{
    (void)state;
    struct buf payload = {0};
    put_load(&payload);
    payload.len -= 4; /* one word short, then one too long */
    for (int tail = 0; tail < 2; tail++, buf_add_u64(&payload, 0)) {
        struct spawned child = spawn(KEYD_SERVE);
        say(&child, WIRE_LOAD, &payload);
        assert_int_equal(end_of(&child), VIOLATION_MALFORMED);
    }
    const uint32_t counts[] = {0, SIGN_BATCH_MAX + 1};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct spawned child = spawn(KEYD_PROVISION);
        load(&child);
        buf_clear(&payload);
        buf_add_u32(&payload, counts[i]);
        say(&child, WIRE_GENERATE, &payload);
        assert_int_equal(end_of(&child), VIOLATION_MALFORMED);
    }
    struct spawned child = spawn(KEYD_SERVE);
    load(&child);
    buf_clear(&payload);
    buf_add_u64(&payload, NOW_S);
    buf_add_u32(&payload, 1); /* an item that is not there */
    say(&child, WIRE_LEASES, &payload);
    assert_int_equal(end_of(&child), VIOLATION_MALFORMED);
    buf_free(&payload);
}

/* ---- what of it can be reached */

static char *slurp(const struct spawned *child, const char *name, size_t *len)
{
    AUTO_FREE char *path = mem_format("/proc/%d/%s", (int)child->pid, name);
    struct buf text = {0};
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        buf_add(&text, &(char){(char)c}, 1);
    fclose(file);
    if (len != NULL)
        *len = text.len;
    buf_add(&text, "", 1);
    return (char *)text.data;
}

static void DS6_environment_and_command_line_hold_nothing(void **state)
{
    (void)state;
    size_t len;
    struct spawned child = spawn(KEYD_SERVE);
    AUTO_FREE char *environment = slurp(&child, "environ", &len);
    assert_string_equal(environment, "");
    assert_int_equal(len, 0);
    AUTO_FREE char *line = slurp(&child, "cmdline", &len);
    assert_int_equal(strncmp(line, "fairway-keyd\0serve", sizeof "fairway-keyd"), 0);
    for (char *word = line + sizeof "fairway-keyd" + sizeof "serve" - 1; word < line + len;
         word += strlen(word) + 1)
        assert_true(strspn(word, "-0123456789") == strlen(word) && strlen(word) < 5); /* descriptors */
    assert_int_equal(end_of(&child), EX_OK);
}

static size_t word_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

static void it_has_its_socket_and_its_log_and_no_more(void **state)
{
    (void)state;
    struct spawned child = spawn(KEYD_SERVE);
    AUTO_FREE char *command = mem_format("ls /proc/%d/fd", (int)child.pid);
    FILE *list = popen(command, "re");
    char line[64];
    size_t count = 0;
    for (; fgets(line, sizeof line, list) != NULL; count++)
        ;
    pclose(list);
    assert_int_equal(count, 2);
    AUTO_FREE char *status = slurp(&child, "status", NULL);
    assert_int_equal(word_of(status, "NoNewPrivs:"), 1);
    assert_int_equal(word_of(status, "Threads:"), 1);
#ifndef FAIRWAY_SANITIZED
    assert_int_equal(word_of(status, "Seccomp:"), 2);
#endif
    AUTO_FREE char *limits = slurp(&child, "limits", NULL);
    assert_int_equal(word_of(limits, "Max core file size"), 0);
    assert_int_equal(word_of(limits, "Max processes"), 0);
    assert_int_equal(end_of(&child), EX_OK);
}

static void it_links_nothing_but_libc_and_libsodium(void **state)
{
    (void)state;
#ifdef FAIRWAY_SANITIZED
    skip();
#else
    AUTO_FREE char *command = mem_format("readelf -d '%s'", keyd_program());
    FILE *sections = popen(command, "re");
    char line[512];
    size_t needed = 0;
    while (fgets(line, sizeof line, sections) != NULL) {
        if (strstr(line, "(NEEDED)") == NULL)
            continue;
        needed++;
        if (strstr(line, "[libc.so.") == NULL && strstr(line, "[libsodium.so.") == NULL &&
            strstr(line, "[ld-linux") == NULL)
            fail_msg("%s", line);
    }
    assert_int_equal(pclose(sections), 0);
    assert_in_range(needed, 2, 3);
#endif
}

/* ---- where its secrets are */

struct sought {
    const char *name;
    const uint8_t *data;
    size_t len;
    size_t outside, inside; /* hits in ordinary pages, and in those that are locked and never dumped */
};

static void search(
    FILE *memory, unsigned long from, unsigned long to, bool guarded, struct sought *sought, size_t count)
{
    size_t len = to - from;
    AUTO_FREE uint8_t *page = NEW_ARRAY(len, uint8_t);
    if (fseek(memory, (long)from, SEEK_SET) != 0 || fread(page, 1, len, memory) != len) {
        clearerr(memory); /* guard pages */
        return;
    }
    for (size_t i = 0; i < count; i++)
        for (uint8_t *at = page;
             (at = memmem(at, len - (size_t)(at - page), sought[i].data, sought[i].len)) != NULL; at++)
            *(guarded ? &sought[i].inside : &sought[i].outside) += 1;
}

static void search_memory(const struct spawned *child, struct sought *sought, size_t count)
{
    AUTO_FREE char *path = mem_format("/proc/%d/mem", (int)child->pid);
    AUTO_FREE char *maps = slurp(child, "smaps", NULL);
    unsigned long from = 0, to = 0, low, high;
    size_t searched = 0;
    FILE *memory = fopen(path, "re");
    assert_non_null(memory);
    for (char *rest = maps, *line; (line = strsep(&rest, "\n")) != NULL;) {
        char permissions[8];
        if (sscanf(line, "%lx-%lx %7s", &low, &high, permissions) == 3) {
            from = permissions[0] == 'r' ? low : 0;
            to = high;
        } else if (strncmp(line, "VmFlags:", 8) == 0 && from != 0) {
            search(
                memory, from, to, strstr(line, " lo") != NULL && strstr(line, " dd") != NULL, sought, count);
            searched++;
        }
    }
    fclose(memory);
    assert_in_range(searched, 5, 10000);
}

/* The keys are in guarded pages alone; what was open for one signature is nowhere. Not for instrumented
 * builds: there nothing is locked, and freed memory is kept. */
static void DS6_secrets_are_in_locked_pages_only(void **state)
{
    (void)state;
#ifdef FAIRWAY_SANITIZED
    skip();
#endif
    if (geteuid() != 0) /* the point of the walls is that nobody else could look */
        skip();
    struct generated_key account;
    keyd_accounts(&account, 1);
    uint8_t master[32], seed[32], secret[64];
    struct opened open;
    struct keyd_settings settings = keyd_test_settings();
    memset(master, 7, sizeof master);
    memset(seed, 11, sizeof seed);
    crypto_sign_seed_keypair((uint8_t[32]){0}, secret, seed);
    assert_int_equal(unseal(master, &settings.network, &account.public_key, &account.sealed, &open), ERR_OK);

    struct spawned child = spawn(KEYD_SERVE);
    load(&child);
    struct buf transaction = {0}, request = {0};
    lease_transaction(&account.public_key, NOW_S + 60, &transaction);
    buf_add_u64(&request, NOW_S);
    buf_add_u32(&request, 1);
    buf_add(&request, account.public_key.bytes, sizeof account.public_key.bytes);
    wire_put_sealed(&request, &account.sealed);
    wire_put_bytes(&request, buf_bytes(&transaction));
    say(&child, WIRE_LEASES, &request);
    hear(&child, WIRE_LEASES);

    struct sought sought[] = {{"master key", master, sizeof master, 0, 0},
        {"distribution key", secret, sizeof secret, 0, 0},
        {"distribution seed as text", (const uint8_t *)"SAFQWCYLBMFQWCYL", 16, 0, 0},
        {"channel account's seed", open.seed, sizeof open.seed, 0, 0}};
    search_memory(&child, sought, ARRAY_LEN(sought));
    for (size_t i = 0; i < ARRAY_LEN(sought); i++)
        if (sought[i].outside != 0 || (sought[i].inside != 0) != (i < 2))
            fail_msg("%s: %zu in guarded pages, %zu elsewhere", sought[i].name, sought[i].inside,
                sought[i].outside);
    assert_int_equal(end_of(&child), EX_OK);
    buf_free(&transaction);
    buf_free(&request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_of_input_is_a_clean_stop),
        cmocka_unit_test(DS7_unknown_messages_end_it),
        cmocka_unit_test(DS7_messages_of_the_other_mode_end_it),
        cmocka_unit_test(DS7_messages_out_of_turn_end_it),
        cmocka_unit_test(DS7_oversized_messages_end_it),
        cmocka_unit_test(DS7_every_truncation_of_a_message_ends_it),
        cmocka_unit_test(DS7_payloads_of_another_shape_end_it),
        cmocka_unit_test(DS6_environment_and_command_line_hold_nothing),
        cmocka_unit_test(it_has_its_socket_and_its_log_and_no_more),
        cmocka_unit_test(it_links_nothing_but_libc_and_libsodium),
        cmocka_unit_test(DS6_secrets_are_in_locked_pages_only),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests_name("keyd walls", tests, NULL, NULL);
}
