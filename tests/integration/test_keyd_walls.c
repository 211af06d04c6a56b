/*
 * The key process from outside (DS6, DS7): how it ends after each forbidden message, and which of its
 * resources are accessible. tests/unit/sandbox/test_sandbox.c tests the system call filter.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "keys/server.h"
#include "base/mem.h"
#include "support/keyd.h"
#include "support/keyd_raw.h"

#define NOW_S ((uint64_t)time(NULL))

/* ---- forbidden messages */

TEST(closing_the_socket_ends_the_key_process_with_exit_code_0)
{
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    assert_int_equal(raw_end(&child), EX_OK);
    child = raw_spawn(KEYD_PROVISION);
    raw_load(&child);
    assert_int_equal(raw_end(&child), EX_OK);
}

TEST(DS7_an_unknown_message_ends_the_key_process)
{
    const uint32_t unknown[] = {0, WIRE_READY, WIRE_TYPE_COUNT, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        for (int loaded = 0; loaded < 2; loaded++) {
            struct spawn_child child = raw_spawn(KEYD_SERVE);
            if (loaded)
                raw_load(&child);
            raw_send_header(&child, unknown[i], 0);
            assert_int_equal(raw_end(&child), VIOLATION_UNKNOWN);
        }
}

TEST(DS7_a_message_of_the_other_mode_ends_the_key_process)
{
    const struct {
        enum keyd_mode mode;
        uint32_t type;
    } forbidden[] = {{KEYD_SERVE, WIRE_GENERATE}, {KEYD_SERVE, WIRE_PROVISIONING}, {KEYD_SERVE, WIRE_IMPORT},
        {KEYD_SERVE, WIRE_RESEAL}, {KEYD_PROVISION, WIRE_LEASES}, {KEYD_PROVISION, WIRE_FEE_BUMPS},
        {KEYD_PROVISION, WIRE_IMPORT}, {KEYD_PROVISION, WIRE_RESEAL}, {KEYD_IMPORT, WIRE_RESEAL},
        {KEYD_IMPORT, WIRE_LEASES}, {KEYD_IMPORT, WIRE_FEE_BUMPS}, {KEYD_IMPORT, WIRE_GENERATE},
        {KEYD_IMPORT, WIRE_PROVISIONING}, {KEYD_ROTATE, WIRE_LEASES}, {KEYD_ROTATE, WIRE_FEE_BUMPS},
        {KEYD_ROTATE, WIRE_GENERATE}, {KEYD_ROTATE, WIRE_PROVISIONING}, {KEYD_ROTATE, WIRE_IMPORT}};
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
        struct spawn_child child = raw_spawn(forbidden[i].mode);
        raw_load(&child);
        raw_send_header(&child, forbidden[i].type, 4);
        assert_int_equal(raw_end(&child), VIOLATION_MODE);
    }
}

TEST(DS7_a_message_before_load_or_a_second_load_ends_the_key_process)
{
    struct buf payload CLEANUP(buf_free) = {0};
    const uint32_t serving[] = {WIRE_LEASES, WIRE_FEE_BUMPS},
                   provisioning[] = {WIRE_GENERATE, WIRE_PROVISIONING};
    for (size_t i = 0; i < 2; i++) {
        struct spawn_child child = raw_spawn(KEYD_SERVE);
        raw_send_header(&child, serving[i], 4);
        assert_int_equal(raw_end(&child), VIOLATION_TURN);
        child = raw_spawn(KEYD_PROVISION);
        raw_send_header(&child, provisioning[i], 4);
        assert_int_equal(raw_end(&child), VIOLATION_TURN);
    }
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    raw_load(&child);
    raw_put_load(&payload);
    raw_send(&child, WIRE_LOAD, &payload);
    assert_int_equal(raw_end(&child), VIOLATION_TURN);
}

/* As versions did that took these by message: the network, then the rows; or also the distribution account
 * and four fees. */
TEST(a_message_with_a_network_or_limits_ends_the_key_process)
{
    const struct network_id network = keyd_test_settings().network;
    for (size_t words = 0; words <= 16; words += 16) {
        struct buf payload CLEANUP(buf_free) = {0};
        struct spawn_child child = raw_spawn(KEYD_PROVISION);
        buf_add(&payload, network.bytes, sizeof network.bytes);
        for (size_t i = 0; i <= words; i++)
            buf_add_u32(&payload, 0);
        raw_send(&child, WIRE_LOAD, &payload);
        assert_int_equal(raw_end(&child), VIOLATION_MALFORMED);
    }
}

/* The header alone ends it; no memory is allocated for the payload. */
TEST(DS7_an_oversized_message_ends_the_key_process)
{
    const struct {
        enum keyd_mode mode;
        uint32_t type, len;
    } oversized[] = {{KEYD_SERVE, WIRE_LEASES, WIRE_PAYLOAD_MAX + 1}, {KEYD_SERVE, WIRE_LEASES, UINT32_MAX},
        {KEYD_SERVE, WIRE_FEE_BUMPS, WIRE_PAYLOAD_MAX + 1}, {KEYD_PROVISION, WIRE_GENERATE, 5},
        {KEYD_PROVISION, WIRE_PROVISIONING, 4097}};
    for (size_t i = 0; i < ARRAY_LEN(oversized); i++) {
        struct spawn_child child = raw_spawn(oversized[i].mode);
        raw_load(&child);
        raw_send_header(&child, oversized[i].type, oversized[i].len);
        assert_int_equal(raw_end(&child), VIOLATION_OVERSIZED);
    }
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    raw_send_header(&child, WIRE_LOAD, 4097);
    assert_int_equal(raw_end(&child), VIOLATION_OVERSIZED);
}

TEST(DS7_a_truncated_message_ends_the_key_process)
{
    CLEANUP(buf_free) struct buf payload = {0}, frame = {0};
    raw_put_load(&payload);
    buf_add_u32(&frame, (uint32_t)payload.len);
    buf_add_u32(&frame, WIRE_LOAD);
    buf_add_bytes(&frame, buf_bytes(&payload));
    for (size_t len = 1; len < frame.len; len++) {
        struct spawn_child child = raw_spawn(KEYD_SERVE);
        assert_int_equal(send(child.fd, frame.data, len, MSG_NOSIGNAL), len);
        assert_int_equal(raw_end(&child), VIOLATION_TRUNCATED);
    }
}

TEST(DS7_a_malformed_payload_ends_the_key_process)
{
    struct buf payload CLEANUP(buf_free) = {0};
    raw_put_load(&payload);
    payload.len -= 4; /* one word short, then one too long */
    for (int tail = 0; tail < 2; tail++, buf_add_u64(&payload, 0)) {
        struct spawn_child child = raw_spawn(KEYD_SERVE);
        raw_send(&child, WIRE_LOAD, &payload);
        assert_int_equal(raw_end(&child), VIOLATION_MALFORMED);
    }
    const uint32_t counts[] = {0, KEYS_BATCH_MAX + 1};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct spawn_child child = raw_spawn(KEYD_PROVISION);
        raw_load(&child);
        buf_clear(&payload);
        buf_add_u32(&payload, counts[i]);
        raw_send(&child, WIRE_GENERATE, &payload);
        assert_int_equal(raw_end(&child), VIOLATION_MALFORMED);
    }
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    raw_load(&child);
    buf_clear(&payload);
    buf_add_u64(&payload, NOW_S);
    buf_add_u32(&payload, 1); /* a missing item */
    raw_send(&child, WIRE_LEASES, &payload);
    assert_int_equal(raw_end(&child), VIOLATION_MALFORMED);
}

/* ---- its resources */

TEST(DS6_environment_and_command_line_hold_no_secret)
{
    size_t len;
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    AUTO_FREE char *environment = raw_proc(&child, "environ", &len);
    assert_string_equal(environment, "");
    assert_int_equal(len, 0);
    AUTO_FREE char *line = raw_proc(&child, "cmdline", &len);
    const char *word = line + strlen(line) + 1;
    assert_ptr_equal(word + strlen(word) + 1, line + len); /* the last one */
    struct arguments arguments;
    const struct keyd_settings settings = keyd_test_settings();
    assert_true(arguments_read(word, &arguments)); /* descriptors and settings only */
    assert_int_equal(arguments.settings.max_bump_fee_stroops, settings.max_bump_fee_stroops);
    assert_memory_equal(&arguments.settings.network, &settings.network, sizeof settings.network);
    assert_int_equal(raw_end(&child), EX_OK);
}

static size_t word_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    assert_non_null(at);
    return strtoul(at + strlen(name), NULL, 10);
}

TEST(only_its_socket_and_its_log_are_open)
{
    int stray = open("/dev/null", O_RDONLY), far = fcntl(stray, F_DUPFD, 300); /* both survive exec */
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    close(stray);
    close(far);
    AUTO_FREE char *command = mem_format("ls /proc/%d/fd", (int)child.pid);
    FILE *list = popen(command, "re");
    char line[64];
    size_t count = 0;
    for (; fgets(line, sizeof line, list) != NULL; count++)
        ;
    pclose(list);
    assert_int_equal(count, 2);
    AUTO_FREE char *status = raw_proc(&child, "status", NULL);
    assert_int_equal(word_of(status, "NoNewPrivs:"), 1);
    assert_int_equal(word_of(status, "Threads:"), 1);
#ifndef FAIRWAY_SANITIZED
    assert_int_equal(word_of(status, "Seccomp:"), 2);
#endif
    AUTO_FREE char *limits = raw_proc(&child, "limits", NULL);
    assert_int_equal(word_of(limits, "Max core file size"), 0);
    assert_int_equal(word_of(limits, "Max processes"), 0);
    assert_int_equal(raw_end(&child), EX_OK);
}

TEST(it_links_only_libc_and_libsodium)
{
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
