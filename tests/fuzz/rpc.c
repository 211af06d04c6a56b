/*
 * The answers of Stellar RPC. The first byte of the input chooses the call, and whether the rest is the whole
 * answer or only its result. This file takes the place of rpc/loop.c.
 */
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "fuzz/fuzz.h"
#include "rpc/rpc.h"
#include "rpc/loop.h"

static struct buf answer;

/* In the place of the loop: the first transfer of each input has the answer, the others none. */
static bool answered;

void loop_look(void)
{
}

void loop_run(struct loop_transfer *transfer)
{
    transfer->e = answered ? ERR_CANCELLED : ERR_OK;
    transfer->status = 200;
    transfer->begun_ms = 1;
    if (!answered) {
        transfer->body = answer;
        answer = (struct buf){0};
    }
    answered = true;
    transfer->done(transfer);
}

/* The metadata is what a parser of JSON finds in the response. */
static void compare(const struct rpc_ledgers *ledgers, struct bytes text)
{
    json_t *root = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *items = json_object_get(json_object_get(root, "result"), "ledgers");
    RULE(json_array_size(items) == ledgers->count);
    for (size_t i = 0; i < ledgers->count; i++) {
        const json_t *value = json_object_get(json_array_get(items, i), "metadataXdr");
        CLEANUP(buf_free) struct buf meta = {0};
        RULE(json_is_string(value) &&
             base64_decode(json_string_value(value), json_string_length(value), &meta) == ERR_OK &&
             bytes_equal(ledgers->items[i].meta, buf_bytes(&meta)));
    }
    json_decref(root);
}

static void ask_ledgers(struct rpc *rpc)
{
    struct rpc_ledgers ledgers;
    struct detail detail;
    CLEANUP(buf_free) struct buf text = {0};
    buf_add_bytes(&text, buf_bytes(&answer));
    enum err e = rpc_ledgers(rpc, 100, 5, &ledgers, &detail);
    RULE(e != ERR_OK || (ledgers.count > 0 && ledgers.count <= 5));
    if (e == ERR_OK)
        compare(&ledgers, buf_bytes(&text));
    rpc_ledgers_free(&ledgers);
}

static void ask_accounts(struct rpc *rpc)
{
    static const struct public_key keys[] = {{{0}}, {{1}}, {{2}}};
    struct account_entry accounts[ARRAY_LEN(keys)];
    struct detail detail;
    uint32_t ledger;
    (void)!rpc_accounts(rpc, keys, ARRAY_LEN(keys), accounts, &ledger, &detail);
}

static void ask_others(struct rpc *rpc, unsigned which)
{
    struct detail detail;
    struct rpc_network network;
    struct frozen_accounts frozen;
    struct rpc_sent sent;
    struct rpc_transaction transaction;
    uint32_t ledger;
    switch (which) {
    case 0:
        (void)!rpc_node_protocol(rpc, &ledger);
        break;
    case 1:
        if (rpc_network(rpc, &network, &detail) == ERR_OK)
            RULE(network.passphrase != NULL);
        rpc_network_free(&network);
        break;
    case 2:
        if (rpc_frozen(rpc, &frozen, &ledger, &detail) == ERR_OK)
            frozen_accounts_free(&frozen);
        break;
    case 3:
        (void)!rpc_send(rpc, (struct bytes){(const uint8_t *)"x", 1}, &sent, &detail);
        break;
    default:
        (void)!rpc_transaction(rpc, &(struct hash){{0}}, &transaction, &detail);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char begin[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":";
    const struct rpc_settings settings = {.url = "http://127.0.0.1:1"};
    if (size == 0)
        return 0;
    bool whole = (data[0] & 8) != 0;
    buf_clear(&answer);
    if (!whole)
        buf_add(&answer, begin, strlen(begin));
    buf_add(&answer, data + 1, size - 1);
    if (!whole)
        buf_add(&answer, "}", 1);
    struct rpc *rpc = rpc_new(&settings);
    answered = false;
    unsigned which = data[0] & 7;
    if (which == 0)
        ask_ledgers(rpc);
    else if (which == 1)
        ask_accounts(rpc);
    else
        ask_others(rpc, which - 2);
    rpc_free(rpc);
    buf_free(&answer);
    return 0;
}
