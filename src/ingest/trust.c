/* Whose signatures count. What a signature proves about a chain of ledgers, chain.c knows. */
#include "trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "embedded.h"
#include "ingest/ingest.h"

#define OPTION "TRUSTED_VALIDATORS"

static const struct {
    const char *passphrase, *list;
} own_lists[] = {
    {"Public Global Stellar Network ; September 2015", validators_public_txt},
    {"Test SDF Network ; September 2015", validators_testnet_txt},
};

/* NULL: none. */
static const char *own_list(const struct network_id *network)
{
    for (size_t i = 0; i < ARRAY_LEN(own_lists); i++) {
        const struct network_id id = network_id_of(own_lists[i].passphrase);
        if (memcmp(id.bytes, network->bytes, sizeof id.bytes) == 0)
            return own_lists[i].list;
    }
    return NULL;
}

const char *ingest_validators_file(const char *trusted_validators)
{
    return text_equal(trusted_validators, "off") ? NULL : trusted_validators;
}

bool ingest_checks_signatures(const char *trusted_validators, const char *passphrase)
{
    const struct network_id network = network_id_of(passphrase);
    return trusted_validators == NULL ? own_list(&network) != NULL
                                      : ingest_validators_file(trusted_validators) != NULL;
}

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

enum err trust_open(
    const char *option, const struct network_id *network, struct trust *out, struct detail *detail)
{
    const char *path = ingest_validators_file(option), *list = option == NULL ? own_list(network) : NULL;
    *out = (struct trust){.file = {.option = OPTION}, .network = *network};
    if (list != NULL)
        return validators_parse(
            (struct bytes){(const uint8_t *)list, strlen(list)}, &out->validators, detail);
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
bool trust_is_on(struct trust *trust)
{
    struct detail detail = {""};
    const bool was_unread = trust->file.unread;
    if (watched_file_changed(&trust->file) && read_file(trust, &detail) != ERR_OK &&
        !(was_unread && trust->file.unread))
        log_error(
            "cannot read the trusted validators again; the previous ones stay", "detail=\"%s\"", detail.text);
    return trust->validators.count > 0;
}

bool trust_signed(const struct trust *trust, const struct ledger *ledger)
{
    const struct stellar_value *value = &ledger->value;
    return (value->kind == STELLAR_VALUE_SIGNED || value->kind == STELLAR_VALUE_SIGNED_MS) &&
           hash_equal(&ledger->set_previous_hash, &ledger->previous_hash) &&
           validators_have(&trust->validators, &value->node) && stellar_value_verify(value, &trust->network);
}
