/* Sends states to the service manager, over a socket and without its library. Never waits for it. */
#include "serve.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

/* False with errno set. */
static bool send_state(const char *path, const char *state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t len = strlen(path);
    if (len >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(address.sun_path, path, len);
    if (path[0] == '@')
        address.sun_path[0] = '\0'; /* the abstract namespace; such a name ends without a NUL */
    const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    const ssize_t sent = sendto(
        fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&address, size);
    const int reason = errno;
    close(fd);
    errno = reason;
    return sent >= 0;
}

void systemd_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    if (path == NULL || (path[0] != '/' && path[0] != '@'))
        return;
    if (!send_state(path, state))
        log_warn("cannot notify the service manager", "socket=\"%s\" state=%s error=\"%s\"", path, state,
            strerror(errno));
}
