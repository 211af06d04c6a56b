/* keyd itself: sandbox, then one request after the other. Any message that is not expected now ends it. */
#include "keys/server.h"

#include <sodium.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "base/mem.h"
#include "handle.h"
#include "sandbox/sandbox.h"
#include "wire.h"

/* How much of the stack below the loop's frame is wiped: calls may have left copies of secrets there. */
#define STACK_WIPED (32u << 10)

enum {
    SERVE = 1 << KEYD_SERVE,
    PROVISION = 1 << KEYD_PROVISION,
    IMPORT = 1 << KEYD_IMPORT,
    ROTATE = 1 << KEYD_ROTATE
};

/*
 * Which messages are allowed when. A message that is not in the table, or not allowed, is a violation. Each
 * mode allows only what its commands need: a compromised fairway serve cannot create or merge accounts.
 */
static const struct rule {
    unsigned modes; /* in which it is allowed */
    bool first;     /* must be the first message, and only the first */
    uint32_t max;   /* bytes of the payload */
    handle_fn handle;
} rules[WIRE_TYPE_COUNT] = {
    [WIRE_LOAD] = {SERVE | PROVISION | IMPORT | ROTATE, true, 4096, handle_load},
    [WIRE_GENERATE] = {PROVISION, false, 4, handle_generate},
    [WIRE_LEASES] = {SERVE, false, WIRE_PAYLOAD_MAX, handle_leases},
    [WIRE_FEE_BUMPS] = {SERVE, false, WIRE_PAYLOAD_MAX, handle_fee_bumps},
    [WIRE_PROVISIONING] = {PROVISION, false, 4096, handle_provisioning},
    [WIRE_IMPORT] = {IMPORT, false, 0, handle_import},
    [WIRE_RESEAL] = {ROTATE, false, 1u << 16, handle_reseal},
};

static const char *const violation_reasons[] = {
    [VIOLATION_UNKNOWN] = "unknown message",
    [VIOLATION_MODE] = "message of another command",
    [VIOLATION_TURN] = "message out of order",
    [VIOLATION_OVERSIZED] = "message too long",
    [VIOLATION_TRUNCATED] = "message truncated",
    [VIOLATION_MALFORMED] = "message does not decode",
};

static enum server_violation check(const struct wire_header *header, enum keyd_mode mode, bool loaded)
{
    if (header->type >= WIRE_TYPE_COUNT || rules[header->type].handle == NULL)
        return VIOLATION_UNKNOWN;
    const struct rule *rule = &rules[header->type];
    if ((rule->modes & 1u << mode) == 0)
        return VIOLATION_MODE;
    if (rule->first == loaded)
        return VIOLATION_TURN;
    return header->len > rule->max ? VIOLATION_OVERSIZED : VIOLATION_NONE;
}

static enum server_violation answer_to(
    struct handle_state *state, uint32_t type, const struct buf *request, struct buf *answer)
{
    struct xdr_reader reader = xdr_reader(wire_payload(request));
    buf_clear(answer);
    ring_begin(state->ring);
    rules[type].handle(state, &reader, answer);
    sodium_stackzero(STACK_WIPED);
    return xdr_end(&reader) == ERR_OK ? VIOLATION_NONE : VIOLATION_MALFORMED;
}

/* Handles one request. Returns an exit code, or -1 to go on. */
static int handle_one(
    int fd, enum keyd_mode mode, struct handle_state *state, struct buf *request, struct buf *answer)
{
    struct wire_header header = {0};
    enum server_violation found = VIOLATION_TRUNCATED;
    buf_clear(request);
    const enum wire_result read = wire_receive(fd, request, WIRE_HEADER_SIZE, -1);
    if (read == WIRE_CLOSED)
        return EX_OK;
    if (read == WIRE_DONE) {
        header = wire_get_header(request);
        found = check(&header, mode, state->loaded);
    }
    if (found == VIOLATION_NONE &&
        wire_receive(fd, request, WIRE_HEADER_SIZE + (size_t)header.len, -1) != WIRE_DONE)
        found = VIOLATION_TRUNCATED;
    if (found == VIOLATION_NONE)
        found = answer_to(state, header.type, request, answer);
    if (found != VIOLATION_NONE) {
        log_error("protocol violation; the key process exits", "reason=\"%s\" message=%u length=%u exit=%d",
            violation_reasons[found], header.type, header.len, (int)found);
        return (int)found;
    }
    if (!wire_write(fd, header.type, buf_bytes(answer), -1))
        return EX_IOERR;
    return state->loaded ? -1 : EX_CONFIG;
}

/* Handles requests until the peer closes the socket. Returns the exit code. */
static int server_run(int fd, enum keyd_mode mode, const struct keyd_settings *settings, struct ring *ring)
{
    struct handle_state state CLEANUP(handle_state_wipe) = handle_state_of(ring, settings);
    struct buf request CLEANUP(buf_free) = {0}, answer CLEANUP(buf_free) = {0};
    int code;
    do
        code = handle_one(fd, mode, &state, &request, &answer);
    while (code < 0);
    return code;
}

static enum err check_secrets(
    const struct keyd_settings *settings, const struct ring *ring, struct detail *detail)
{
    const struct ring_secrets *secrets = ring->secrets;
    if (!secrets->has_file_key && secrets->passphrase_len == 0)
        return detail_set(detail, ERR_CONFIG,
            "no master key: set MASTER_KEY_FILE to the path of a key file (fairway keygen FILE makes one), or"
            " set CHANNEL_ACCOUNT_ENCRYPTION_PASSPHRASE");
    if (!secrets->has_distribution)
        return detail_set(detail, ERR_CONFIG,
            "no distribution account: set DISTRIBUTION_ACCOUNT_PRIVATE_KEY_FILE to a file with its secret"
            " seed (S...)");
    if (settings->has_distribution && !public_key_equal(&settings->distribution, &ring->distribution))
        return detail_set(detail, ERR_CONFIG,
            "DISTRIBUTION_ACCOUNT_PRIVATE_KEY does not belong to DISTRIBUTION_ACCOUNT_PUBLIC_KEY");
    return ERR_OK;
}

static enum err prepare(const struct arguments *arguments, struct ring *ring, struct detail *detail)
{
    const struct keyd_secrets *secrets = &arguments->secrets;
    int keep[1 + KEYD_SECRETS] = {arguments->socket_fd};
    memcpy(keep + 1, secrets->fd, sizeof secrets->fd);
    enum err e = sandbox_prepare(keep, ARRAY_LEN(keep), detail);
    if (e != ERR_OK)
        return e;
    if (sodium_init() < 0)
        return detail_set(detail, ERR_CONFIG, "libsodium does not initialize");
    if ((e = ring_open(ring, &arguments->settings.network, detail)) != ERR_OK ||
        (e = ring_read(ring, secrets, detail)) != ERR_OK ||
        (e = check_secrets(&arguments->settings, ring, detail)) != ERR_OK)
        return e;
    return sandbox_enter(arguments->socket_fd, detail);
}

int server_main(const struct arguments *arguments)
{
    const int socket_fd = arguments->socket_fd;
    struct ring ring;
    struct detail detail = {0};
    struct buf ready CLEANUP(buf_free) = {0};
    enum err e = prepare(arguments, &ring, &detail);
    wire_put_result(&ready, e, &detail);
    bool sent = wire_write(socket_fd, WIRE_READY, buf_bytes(&ready), -1);
    if (!sent)
        log_error("cannot write to the socket of the key process", "detail=\"%s\"", detail.text);
    if (e != ERR_OK || !sent)
        return e != ERR_OK ? EX_CONFIG : EX_IOERR;
    int code = server_run(socket_fd, arguments->mode, &arguments->settings, &ring);
    ring_close(&ring);
    return code;
}
