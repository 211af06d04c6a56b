/* One eventfd that all threads wait for. Who joins them is not known here. */
#include "base/stop.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum err stop_open(struct stop *stop, struct detail *detail)
{
    stop->fd = eventfd(0, EFD_CLOEXEC);
    return stop->fd >= 0 ? ERR_OK : detail_set(detail, ERR_INTERNAL, "eventfd: %s", strerror(errno));
}

void stop_close(struct stop *stop)
{
    close(stop->fd);
}

void stop_tell(const struct stop *stop)
{
    if (eventfd_write(stop->fd, 1) != 0)
        log_error("cannot tell threads to stop", "error=\"%s\"", strerror(errno));
}

bool stop_wait(const struct stop *stop, unsigned ms)
{
    struct pollfd fd = {.fd = stop->fd, .events = POLLIN};
    const int64_t deadline_ms = clock_ms() + ms;
    int ready;
    while ((ready = poll(&fd, 1, clock_left_ms(deadline_ms))) < 0 && errno == EINTR)
        ;
    return ready == 0;
}
