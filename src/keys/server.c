#include "server.h"

#include <sodium.h>
#include <sysexits.h>

#include "base/log.h"
#include "handlers.h"
#include "wire.h"

/* Copies of secrets that a call chain may have left on the stack lie within this of the loop's frame. */
#define STACK_WIPED (32u << 10)

/*
 * Which message may come when. What is not in the table, or not allowed, is a violation. Each mode has what
 * its commands need and no more: who captures a serving fairway cannot create or merge accounts.
 */
static const struct rule {
    bool serve, provision; /* modes in which it is allowed */
    bool first;            /* must be the first message, and comes once; all others must not be */
    uint32_t max;          /* bytes of the payload */
    keyd_handler handle;
} rules[WIRE_TYPE_COUNT] = {
    [WIRE_LOAD] = {true, true, true, 4096, handle_load},
    [WIRE_GENERATE] = {false, true, false, 4, handle_generate},
    [WIRE_LEASES] = {true, false, false, WIRE_PAYLOAD_MAX, handle_leases},
    [WIRE_FEE_BUMP] = {true, false, false, KEYD_TRANSACTION_MAX + 256, handle_fee_bump},
    [WIRE_TEMPLATE] = {false, true, false, 4096, handle_provisioning},
};

static enum violation judge(const struct wire_header *header, enum keyd_mode mode, bool loaded)
{
    if (header->type >= WIRE_TYPE_COUNT || rules[header->type].handle == NULL)
        return VIOLATION_UNKNOWN;
    const struct rule *rule = &rules[header->type];
    if (!(mode == KEYD_SERVE ? rule->serve : rule->provision))
        return VIOLATION_MODE;
    if (rule->first == loaded)
        return VIOLATION_TURN;
    return header->len > rule->max ? VIOLATION_OVERSIZED : VIOLATION_NONE;
}

static enum violation answer_to(
    struct keyd_state *state, uint32_t type, const struct buf *request, struct buf *answer)
{
    struct xdr_reader reader = xdr_reader(buf_bytes(request));
    buf_clear(answer);
    enum err e = rules[type].handle(state, &reader, answer);
    sodium_stackzero(STACK_WIPED);
    return e == ERR_OK && xdr_end(&reader) == ERR_OK ? VIOLATION_NONE : VIOLATION_MALFORMED;
}

/* One request and its answer. Answers an exit code, or -1 to go on. */
static int turn(
    int fd, enum keyd_mode mode, struct keyd_state *state, struct buf *request, struct buf *answer)
{
    struct wire_header header = {0};
    enum wire_reads read = wire_read_header(fd, &header, -1);
    if (read == WIRE_CLOSED)
        return EX_OK;
    enum violation found = read == WIRE_READ ? judge(&header, mode, state->loaded) : VIOLATION_TRUNCATED;
    if (found == VIOLATION_NONE && wire_read_payload(fd, header.len, request, -1) != WIRE_READ)
        found = VIOLATION_TRUNCATED;
    if (found == VIOLATION_NONE)
        found = answer_to(state, header.type, request, answer);
    if (found != VIOLATION_NONE) {
        log_error("protocol violation, the key process ends", "exit=%d message=%u length=%u", (int)found,
            header.type, header.len);
        return (int)found;
    }
    if (!wire_write(fd, header.type, buf_bytes(answer), -1))
        return EX_IOERR;
    return state->loaded ? -1 : EX_CONFIG;
}

int keyd_serve(int fd, enum keyd_mode mode, struct ring *ring)
{
    struct keyd_state state = {.ring = ring};
    struct buf request = {0}, answer = {0};
    int code;
    do
        code = turn(fd, mode, &state, &request, &answer);
    while (code < 0);
    buf_free(&request);
    buf_free(&answer);
    return code;
}
