/*
 * The client of the key process, with a hostile key process. The first byte of the input chooses the call,
 * the second whether the rest is a stream of frames or the payload of the right answer.
 */
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/deadlines.h"
#include "base/log.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "keys/client.h"
#include "keys/keyd.h"

enum {
    ANSWER_MAX = 1 << 15 /* fits into the socket's buffer */
};

static enum wire_type type_of(unsigned call)
{
    static const enum wire_type types[] = {WIRE_LOAD, WIRE_GENERATE, WIRE_LEASES, WIRE_FEE_BUMPS,
        WIRE_PROVISIONING, WIRE_READY, WIRE_IMPORT, WIRE_RESEAL};
    return types[call % ARRAY_LEN(types)];
}

static enum err call_leases(struct keyd *keyd)
{
    CLEANUP(buf_free) struct buf bid = {0};
    struct lease_signing items[2] = {{.transaction = {(const uint8_t *)"abcd", 4}},
        {.bid_fee_stroops = 5, .bid_envelope = &bid, .result = ERR_INTERNAL}};
    enum err e = keyd_sign_leases(keyd, 1, 0, items, ARRAY_LEN(items));
    RULE(e != ERR_OK || (bid.len > 0) == (items[1].result == ERR_OK));
    return e;
}

static enum err call_bumps(struct keyd *keyd)
{
    struct buf envelopes[2] = {{0}};
    struct bump_signing items[2] = {{.envelope = &envelopes[0]}, {.envelope = &envelopes[1]}};
    enum err e = keyd_sign_fee_bumps(keyd, 0, items, ARRAY_LEN(items));
    buf_free(&envelopes[0]);
    buf_free(&envelopes[1]);
    return e;
}

static enum err call_provisioning(struct keyd *keyd)
{
    CLEANUP(buf_free) struct buf envelope = {0};
    struct provisioning_tx merge = {.kind = PROVISIONING_MERGE, .account_count = 2};
    struct sealed_seed sealed[2] = {{.key_id = "0123456789abcdef"}, {.key_id = "0123456789abcdef"}};
    struct hash hash;
    struct detail detail;
    uint32_t broken = 0;
    enum err e = keyd_sign_provisioning(keyd, 1, &merge, sealed, &envelope, &hash, &broken, &detail);
    RULE(e == ERR_KEYD_UNAVAILABLE || broken < merge.account_count);
    return e;
}

static enum err call_import(struct keyd *keyd)
{
    static struct imported_key keys[KEYD_IMPORT_BATCH];
    size_t count = 0;
    enum err e = keyd_import(keyd, keys, &count);
    RULE(e != ERR_OK || count <= KEYD_IMPORT_BATCH);
    return e;
}

static enum err call(struct keyd *keyd, unsigned which)
{
    struct detail detail;
    struct master_key_row current;
    struct public_key distribution;
    struct generated_key keys[2] = {0};
    enum err results[2];
    bool is_new;
    switch (type_of(which)) {
    case WIRE_LOAD:
        return keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, &detail);
    case WIRE_GENERATE:
        return keyd_generate(keyd, ARRAY_LEN(keys), keys);
    case WIRE_LEASES:
        return call_leases(keyd);
    case WIRE_FEE_BUMPS:
        return call_bumps(keyd);
    case WIRE_PROVISIONING:
        return call_provisioning(keyd);
    case WIRE_RESEAL:
        return keyd_reseal(keyd, keys, results, ARRAY_LEN(keys));
    case WIRE_IMPORT:
        return call_import(keyd);
    default:
        return client_wait_ready(keyd, KEYD_CALL_MS, &detail);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    if (size < 2 || size > ANSWER_MAX)
        return 0;
    RULE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    /* the readable pidfd looks like that of a process that has ended */
    struct keyd keyd = {.child = {.fd = pair[0], .pidfd = eventfd(1, EFD_CLOEXEC)}};
    client_init(&keyd);
    (void)!log_set_level("error");
    if ((data[1] & 1) != 0)
        RULE(send(pair[1], data + 2, size - 2, 0) == (ssize_t)(size - 2));
    else
        RULE(wire_write(pair[1], type_of(data[0]), (struct bytes){data + 2, size - 2}, -1));
    shutdown(pair[1], SHUT_WR);
    enum err e = call(&keyd, data[0]);
    RULE(e == ERR_OK || !keyd.lost || e == ERR_KEYD_UNAVAILABLE);
    /* after an answer that was lost or malformed, nothing is asked any more */
    if (keyd.lost && type_of(data[0]) != WIRE_READY)
        RULE(call(&keyd, data[0]) == ERR_KEYD_UNAVAILABLE);
    close(pair[0]);
    close(pair[1]);
    close(keyd.child.pidfd);
    client_free(&keyd);
    return 0;
}
