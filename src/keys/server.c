#include "server.h"

#include <sysexits.h>

#include "base/log.h"
#include "handlers.h"
#include "wire.h"

/* Which message may come when. What is not in the table, or not allowed, is a violation. */
static const struct rule {
    const char *name;
    bool serve, provision; /* modes in which it is allowed */
    bool first;            /* must be the first message, and comes once; all others must not be */
    uint32_t max;          /* bytes of the payload */
    keyd_handler handle;
} rules[WIRE_TYPE_COUNT] = {
    [WIRE_LOAD] = {"load", true, true, true, 4096, handle_load},
    [WIRE_GENERATE] = {"generate", false, true, false, 4, handle_generate},
    [WIRE_LEASES] = {"sign leases", true, false, false, WIRE_PAYLOAD_MAX, handle_leases},
    [WIRE_FEE_BUMP] = {"sign fee bump", true, false, false, 1u << 20, handle_fee_bump},
    [WIRE_TEMPLATE] = {"sign template", false, true, false, 16384, handle_template},
};

static int violation(const char *what, uint32_t type)
{
    log_error("protocol violation, the key process ends", "what=\"%s\" message=%u", what, type);
    return EX_PROTOCOL;
}

static const char *refusal(const struct rule *rule, enum keyd_mode mode, bool loaded, size_t len)
{
    if (!(mode == KEYD_SERVE ? rule->serve : rule->provision))
        return "not allowed in this mode";
    if (rule->first == loaded)
        return "out of turn";
    return len > rule->max ? "too large" : NULL;
}

int keyd_serve(int fd, enum keyd_mode mode, struct ring *ring)
{
    struct keyd_state state = {.ring = ring};
    struct buf request = {0}, answer = {0};
    for (bool loaded = false;; loaded = true) {
        uint32_t type;
        enum wire_reads read = wire_read(fd, &type, &request, WIRE_PAYLOAD_MAX, -1);
        if (read == WIRE_CLOSED) {
            buf_free(&request);
            buf_free(&answer);
            return EX_OK;
        }
        if (read != WIRE_READ)
            return violation(read == WIRE_OVERSIZED ? "too large" : "truncated", 0);
        if (type >= WIRE_TYPE_COUNT || rules[type].handle == NULL)
            return violation("unknown", type);
        const char *why = refusal(&rules[type], mode, loaded, request.len);
        if (why != NULL)
            return violation(why, type);
        struct xdr_reader reader = xdr_reader(buf_bytes(&request));
        buf_clear(&answer);
        if (rules[type].handle(&state, &reader, &answer) != ERR_OK || xdr_end(&reader) != ERR_OK)
            return violation("malformed", type);
        if (!wire_write(fd, type, buf_bytes(&answer), -1))
            return EX_IOERR;
    }
}
