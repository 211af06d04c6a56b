/* Checks the signatures of ledgers. Whether a ledger is the next one, cursor.c checks. */
#include "trust.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#define OPTION "TRUSTED_VALIDATORS"

static enum err read_file(struct trust *trust, struct detail *detail)
{
    struct buf text CLEANUP(buf_free) = {0};
    struct validators fresh;
    struct detail why = {""};
    enum err e = watched_file_read(&trust->file, &text, detail);
    if (e != ERR_OK)
        return e;
    if ((e = validators_parse(buf_bytes(&text), &fresh, &why)) != ERR_OK)
        return detail_set(detail, e, OPTION ": %s: %s", trust->file.path, why.text);
    validators_free(&trust->validators);
    trust->validators = fresh;
    log_info("trusted validators read", "keys=%zu", fresh.count);
    return ERR_OK;
}

enum err trust_open(const char *path, struct trust *out, struct detail *detail)
{
    *out = (struct trust){.file = {.option = OPTION}};
    if (path == NULL)
        return ERR_OK;
    out->file.path = mem_copy_text(path);
    return read_file(out, detail);
}

void trust_free(struct trust *trust)
{
    validators_free(&trust->validators);
    free(trust->file.path);
    *trust = (struct trust){0};
}

/* A file that is wrong is logged once. */
static void refresh(struct trust *trust)
{
    struct detail detail = {""};
    if (!watched_file_changed(&trust->file))
        return;
    const bool was_unread = trust->file.unread;
    if (read_file(trust, &detail) != ERR_OK && !(was_unread && trust->file.unread))
        log_error(
            "cannot read the trusted validators again; the previous ones stay", "detail=\"%s\"", detail.text);
}

static bool has_set(const struct stellar_value *value)
{
    return value->kind == STELLAR_VALUE_SIGNED || value->kind == STELLAR_VALUE_SIGNED_MS;
}

static enum err refuse(const struct ledger *ledger, unsigned rpc, const char *what, struct detail *detail)
{
    char node[ADDRESS_SIZE] = "nobody";
    if (ledger->value.has_signature)
        address_encode(&ledger->value.node, node);
    return detail_set(detail, ERR_LEDGER_MISMATCH,
        "ledger %" PRIu32
        " of RPC %u of RPC_URL, signed by %s: %s: this RPC lies, or the list is not complete",
        ledger->sequence, rpc, node, what);
}

static enum err check_signature(const struct trust *trust, const struct network_id *network,
    const struct ledger *ledger, unsigned rpc, struct detail *detail)
{
    if (!ledger->value.has_signature || validators_find(&trust->validators, &ledger->value.node) == NULL)
        return refuse(ledger, rpc, "this node is not in " OPTION, detail);
    if (!stellar_value_verify(&ledger->value, network))
        return refuse(ledger, rpc, "the signature is not valid", detail);
    if (!has_set(&ledger->value) && !hash_equal(&ledger->value.tx_set_hash, &(struct hash){{0}}))
        return refuse(
            ledger, rpc, "it has a transaction set, but its value says that it was dropped", detail);
    if (has_set(&ledger->value) && !hash_equal(&ledger->set_previous_hash, &ledger->previous_hash))
        return refuse(ledger, rpc, "its transaction set is not for the ledger before it", detail);
    return ERR_OK;
}

/* Walks the ledgers that follow, up to the first one with a set. */
static enum err check_followed(const struct trust *trust, const struct network_id *network, struct hash last,
    const struct rpc_ledger following[], size_t count, struct detail *detail)
{
    for (size_t i = 0; i < count; i++) {
        struct ledger next CLEANUP(ledger_free) = {0};
        enum err e = ledger_decode(following[i].meta, network, &next, detail);
        if (e == ERR_OK)
            e = check_signature(trust, network, &next, following[i].rpc, detail);
        if (e == ERR_OK && !(next.hash_proved && next.set_proved && hash_equal(&next.previous_hash, &last)))
            e = refuse(&next, following[i].rpc, "it does not follow from the ledger before it", detail);
        if (e != ERR_OK || has_set(&next.value))
            return e;
        last = next.hash;
    }
    return detail_set(detail, ERR_LEDGER_AHEAD, "only the next ledger proves one without transactions");
}

enum err trust_check(struct trust *trust, const struct network_id *network, const struct ledger *ledger,
    const struct rpc_ledger received[], size_t count, struct detail *detail)
{
    refresh(trust);
    enum err e = check_signature(trust, network, ledger, received->rpc, detail);
    if (e != ERR_OK || has_set(&ledger->value))
        return e;
    return check_followed(trust, network, ledger->hash, received + 1, count - 1, detail);
}
