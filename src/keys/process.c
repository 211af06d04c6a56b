#include "keys/process.h"

#include <sodium.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox.h"
#include "server.h"

int keyd_process(
    int socket_fd, enum keyd_mode mode, const struct keyd_secrets *secrets, struct detail *detail)
{
    const int keep[] = {socket_fd, secrets->master_key_fd, secrets->passphrase_fd, secrets->distribution_fd};
    struct ring ring;
    enum err e = sandbox_prepare(keep, ARRAY_LEN(keep), detail);
    if (e == ERR_OK && sodium_init() < 0)
        e = detail_set(detail, ERR_CONFIG, "libsodium does not start");
    if (e == ERR_OK)
        e = ring_open(&ring, detail);
    if (e == ERR_OK)
        e = ring_read(&ring, secrets, detail);
    if (e == ERR_OK)
        e = sandbox_enter(socket_fd, detail);
    if (e != ERR_OK) {
        log_error("the key process cannot start", "detail=\"%s\"", detail->text);
        return EX_CONFIG;
    }
    int code = keyd_serve(socket_fd, mode, &ring);
    sodium_memzero(ring.secrets, sizeof *ring.secrets);
    return code;
}
