#include "keyd_raw.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "base/clock.h"
#include "base/mem.h"
#include "frames.h"
#include "keyd.h"

#define PATIENCE_MS 10000

struct spawn_child raw_spawn(enum keyd_mode mode)
{
    struct spawn_child child;
    struct detail detail = {0};
    struct buf ready CLEANUP(buf_free) = {0};
    uint32_t type;
    struct keyd_secrets secrets = keyd_known_secrets();
    const struct keyd_settings settings = keyd_test_settings();
    if (spawn_keyd(keyd_program(), mode, &settings, &secrets, &child, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    assert_int_equal(read_frame(child.fd, &type, &ready, clock_ms() + PATIENCE_MS), WIRE_DONE);
    assert_int_equal(type, WIRE_READY);
    assert_int_equal(be32_get(ready.data), ERR_OK);
    return child;
}

void raw_put_load(struct buf *out)
{
    buf_add_u32(out, 0);
}

void raw_send(const struct spawn_child *child, uint32_t type, const struct buf *payload)
{
    assert_true(wire_write(child->fd, type, buf_bytes(payload), clock_ms() + PATIENCE_MS));
}

void raw_send_header(const struct spawn_child *child, uint32_t type, uint32_t len)
{
    uint8_t header[WIRE_HEADER_SIZE];
    be32_put(header, len);
    be32_put(header + 4, type);
    assert_int_equal(send(child->fd, header, sizeof header, MSG_NOSIGNAL), sizeof header);
}

void raw_receive(const struct spawn_child *child, uint32_t type, struct buf *answer)
{
    uint32_t got;
    assert_int_equal(read_frame(child->fd, &got, answer, clock_ms() + PATIENCE_MS), WIRE_DONE);
    assert_int_equal(got, type);
}

void raw_load(const struct spawn_child *child)
{
    CLEANUP(buf_free) struct buf payload = {0}, answer = {0};
    raw_put_load(&payload);
    raw_send(child, WIRE_LOAD, &payload);
    raw_receive(child, WIRE_LOAD, &answer);
    assert_int_equal(be32_get(answer.data), ERR_OK);
}

int raw_end(struct spawn_child *child)
{
    struct buf nothing = {0};
    int status;
    shutdown(child->fd, SHUT_WR);
    assert_int_equal(wire_receive(child->fd, &nothing, 1, clock_ms() + PATIENCE_MS), WIRE_CLOSED);
    buf_free(&nothing);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    close(child->fd);
    close(child->pidfd);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

char *raw_proc(const struct spawn_child *child, const char *name, size_t *len)
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
