#include "keys/keyd.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "client.h"

/* How long a process that closed its socket may take to end. */
#define END_MS 1000

/* The mutex is held. */
static void set_dead(struct keyd *keyd)
{
    if (!keyd->dead && eventfd_write(keyd->dead_event, 1) != 0)
        log_fatal(EX_OSERR, "eventfd_write failed", "reason=\"%s\"", strerror(errno));
    keyd->dead = true;
}

struct buf *call_begin(struct keyd *keyd)
{
    pthread_mutex_lock(&keyd->mutex);
    buf_clear(&keyd->request);
    return &keyd->request;
}

static bool receive(struct keyd *keyd, enum wire_type type, int64_t deadline_ms)
{
    struct wire_header header;
    return wire_read_header(keyd->child.fd, &header, deadline_ms) == WIRE_READ && header.type == type &&
           header.len <= WIRE_PAYLOAD_MAX &&
           wire_read_payload(keyd->child.fd, header.len, &keyd->answer, deadline_ms) == WIRE_READ;
}

enum err call_exchange(struct keyd *keyd, enum wire_type type, int timeout_ms, struct xdr_reader *answer)
{
    int64_t deadline_ms = clock_ms() + timeout_ms;
    if (!keyd->dead && (!wire_write(keyd->child.fd, type, buf_bytes(&keyd->request), deadline_ms) ||
                           !receive(keyd, type, deadline_ms)))
        set_dead(keyd);
    *answer = xdr_reader(keyd->dead ? (struct bytes){0} : buf_bytes(&keyd->answer));
    return keyd->dead ? ERR_KEYD_UNAVAILABLE : ERR_OK;
}

enum err call_end(struct keyd *keyd, enum err e, const struct xdr_reader *answer)
{
    if (e != ERR_OK || xdr_end(answer) != ERR_OK)
        set_dead(keyd);
    e = keyd->dead ? ERR_KEYD_UNAVAILABLE : ERR_OK;
    pthread_mutex_unlock(&keyd->mutex);
    return e;
}

/* What keyd says when its sandbox stands, or why it does not. */
static enum err wait_until_ready(struct keyd *keyd, struct detail *detail)
{
    enum err result;
    if (receive(keyd, WIRE_READY, clock_ms() + CALL_MS)) {
        struct xdr_reader answer = xdr_reader(buf_bytes(&keyd->answer));
        enum err e = wire_get_result(&answer, &result, detail);
        return e == ERR_OK && xdr_end(&answer) == ERR_OK
                   ? result
                   : detail_set(detail, ERR_CONFIG, "fairway-keyd is of another version");
    }
    struct detail end;
    if (!spawned_ended(&keyd->child, END_MS, &end))
        return detail_set(detail, ERR_KEYD_UNAVAILABLE, "the key process does not become ready");
    return detail_set(detail, ERR_CONFIG, "the key process does not start (%s)", end.text);
}

/* Returns false when the system has no descriptors left. */
static bool open_lost_fd(struct keyd *keyd)
{
    struct epoll_event event = {.events = EPOLLIN};
    keyd->dead_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keyd->lost_fd = epoll_create1(EPOLL_CLOEXEC);
    return keyd->dead_event >= 0 && keyd->lost_fd >= 0 &&
           epoll_ctl(keyd->lost_fd, EPOLL_CTL_ADD, keyd->dead_event, &event) == 0 &&
           epoll_ctl(keyd->lost_fd, EPOLL_CTL_ADD, keyd->child.pidfd, &event) == 0;
}

enum err keyd_start(const char *program, enum keyd_mode mode, const struct keyd_secrets *secrets,
    struct keyd **out, struct detail *detail)
{
    struct spawned child;
    enum err e = spawn_keyd(program, mode, secrets, &child, detail);
    if (e != ERR_OK)
        return e;
    struct keyd *keyd = NEW(struct keyd);
    keyd->child = child;
    pthread_mutex_init(&keyd->mutex, NULL);
    e = open_lost_fd(keyd) ? wait_until_ready(keyd, detail)
                           : detail_set(detail, ERR_KEYD_UNAVAILABLE, "epoll: %s", strerror(errno));
    if (e != ERR_OK) {
        keyd_stop(keyd);
        return e;
    }
    *out = keyd;
    return ERR_OK;
}

void keyd_stop(struct keyd *keyd)
{
    if (keyd == NULL)
        return;
    close(keyd->child.fd); /* ends it */
    if (keyd->lost_fd >= 0)
        close(keyd->lost_fd);
    if (keyd->dead_event >= 0)
        close(keyd->dead_event);
    spawned_reap(&keyd->child, keyd->dead ? 0 : CALL_MS);
    pthread_mutex_destroy(&keyd->mutex);
    buf_free(&keyd->request);
    buf_free(&keyd->answer);
    free(keyd);
}

int keyd_lost_fd(const struct keyd *keyd)
{
    return keyd->lost_fd;
}

int keyd_pidfd(const struct keyd *keyd)
{
    return keyd->child.pidfd;
}

bool keyd_ended(const struct keyd *keyd, struct detail *detail)
{
    return spawned_ended(&keyd->child, 0, detail);
}
