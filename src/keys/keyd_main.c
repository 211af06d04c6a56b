#include "keys/keyd_main.h"

#include <sodium.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox.h"
#include "server.h"
#include "wire.h"

static enum err raise_walls(
    int socket_fd, const struct keyd_secrets *secrets, struct ring *ring, struct detail *detail)
{
    const int keep[] = {socket_fd, secrets->master_key_fd, secrets->passphrase_fd, secrets->distribution_fd};
    enum err e = sandbox_prepare(keep, ARRAY_LEN(keep), detail);
    if (e != ERR_OK)
        return e;
    if (sodium_init() < 0)
        return detail_set(detail, ERR_CONFIG, "libsodium does not start");
    if ((e = ring_open(ring, detail)) != ERR_OK || (e = ring_read(ring, secrets, detail)) != ERR_OK)
        return e;
    return sandbox_enter(socket_fd, detail);
}

int keyd_main(int socket_fd, enum keyd_mode mode, const struct keyd_secrets *secrets)
{
    struct ring ring;
    struct detail detail = {0};
    struct buf ready = {0};
    enum err e = raise_walls(socket_fd, secrets, &ring, &detail);
    wire_put_result(&ready, e, &detail);
    bool told = wire_write(socket_fd, WIRE_READY, buf_bytes(&ready), -1);
    buf_free(&ready);
    if (!told)
        log_error("nobody listens to the key process", "detail=\"%s\"", detail.text);
    if (e != ERR_OK || !told)
        return e != ERR_OK ? EX_CONFIG : EX_IOERR;
    int code = keyd_serve(socket_fd, mode, &ring);
    ring_close(&ring);
    return code;
}
