#include "inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "changes.h"
#include "base/mem.h"
#include "base/text.h"
#include "stellar/ledger.h"
#include "stellar/result.h"
#include "stellar/return_value.h"
#include "xdr/xdr.h"

/* Record marking, RFC 5531 section 11: the last fragment of a record. Stellar writes one fragment a record.
 */
#define RECORD_LAST 0x80000000u

static json_t *transactions_json(const struct ledger *ledger)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        json_t *item = json_object();
        json_object_set_new(item, "hash", inspect_hash(&transaction->hash));
        json_object_set_new(item, "code", json_integer(transaction->code));
        if (transaction->fee_bump) {
            json_object_set_new(item, "innerHash", inspect_hash(&transaction->inner_hash));
            json_object_set_new(item, "innerCode", json_integer(transaction->inner_code));
        }
        json_array_append_new(list, item);
    }
    return list;
}

static json_t *ledger_json(
    const char *file, size_t index, const struct ledger *ledger, struct changes *changes)
{
    json_t *out = json_object(), *name = json_string(file);
    json_object_set_new(out, "file", name != NULL ? name : json_string("(not UTF-8)"));
    json_object_set_new(out, "index", json_integer((json_int_t)index));
    json_object_set_new(out, "metaVersion", json_integer(ledger->meta_version));
    json_object_set_new(out, "protocol", json_integer(ledger->protocol));
    json_object_set_new(out, "sequence", json_integer(ledger->sequence));
    json_object_set_new(out, "hash", inspect_hash(&ledger->hash));
    json_object_set_new(out, "previousHash", inspect_hash(&ledger->previous_hash));
    json_object_set_new(out, "closeTime", inspect_u64(ledger->close_time_s));
    json_object_set_new(out, "transactions", transactions_json(ledger));
    json_object_set_new(out, "accounts", changes_json(changes));
    return out;
}

static enum err add_operation(struct bytes result, void *context)
{
    const char *name = xdr_result_name(result);
    json_array_append_new(context, name == NULL ? json_null() : json_string(name));
    return ERR_OK;
}

/* What GET /v1/transactions/{hash} says of a result: a line for each transaction. */
static void results_print(const struct ledger *ledger)
{
    for (size_t i = 0; i < ledger->transaction_count; i++) {
        const struct ledger_transaction *transaction = &ledger->transactions[i];
        struct xdr_reader in = xdr_reader(transaction->result);
        json_t *out = json_object(), *operations = json_array();
        json_object_set_new(out, "hash", inspect_hash(&transaction->hash));
        json_object_set_new(out, "feeCharged", inspect_i64(result_fee_charged(transaction->result)));
        (void)!xdr_each(&in, XDR_TransactionResult, XDR_OperationResult, add_operation, operations);
        json_object_set_new(out, "operations", operations);
        const struct bytes value = return_value(transaction->result, transaction->meta);
        AUTO_FREE char *text = base64_encode(value);
        json_object_set_new(out, "returnValue", value.len == 0 ? json_null() : json_string(text));
        inspect_print(out);
    }
}

/* A file of ledgers and the position in it. */
struct input {
    const char *path, *name;
    FILE *file;
    const struct network_id *network; /* NULL: the transaction set is not checked */
    bool results;                     /* print these instead of the ledger */
    size_t offset, index;
    struct buf buf;
};

static int refuse(const struct input *in, const char *why)
{
    fprintf(stderr, "inspect: %s: ledger %zu, which begins at byte %zu: %s\n", in->path, in->index,
        in->offset, why);
    return EX_DATAERR;
}

static int ledger_print(const struct input *in)
{
    struct ledger ledger;
    struct detail detail;
    if (ledger_decode(buf_bytes(&in->buf), in->network, &ledger, &detail) != ERR_OK)
        return refuse(in, detail.text);
    if (in->results) {
        results_print(&ledger);
        ledger_free(&ledger);
        return EX_OK;
    }
    struct changes changes = changes_of(buf_bytes(&in->buf));
    const struct public_key *unexplained = ledger.set_proved ? changes_unexplained(&changes, &ledger) : NULL;
    char address[ADDRESS_SIZE], why[100];
    int code = EX_OK;
    if (unexplained != NULL)
        address_encode(unexplained, address);
    inspect_print(ledger_json(in->name, in->index, &ledger, &changes));
    if (!ledger.hash_proved)
        code = refuse(in, "its hash is not the SHA-256 of its header");
    if (code == EX_OK && !ledger.results_proved)
        code = refuse(in, "the txSetResultHash of its header is not the hash of its results");
    if (code == EX_OK && in->network != NULL && !ledger.set_proved)
        code = refuse(in, "the txSetHash of its header is not the hash of its transactions, or they are not "
                          "those of its results");
    if (code == EX_OK && in->network != NULL && ledger.value.has_signature &&
        !stellar_value_verify(&ledger.value, in->network))
        code = refuse(in, "the scpValue of its header does not have the signature of its node");
    if (code == EX_OK && ledger.value.times_differ)
        code = refuse(in, "its close time in seconds is not the one in milliseconds");
    if (code == EX_OK && unexplained != NULL) {
        snprintf(why, sizeof why, "no transaction explains a change of %s", address);
        code = refuse(in, why);
    }
    changes_free(&changes);
    ledger_free(&ledger);
    return code;
}

/* Appends at most len bytes, fewer at the end of the file. Allocates as it reads, not len at once. */
static void read_part(FILE *file, size_t len, struct buf *out)
{
    for (size_t got = 1; len > 0 && got > 0; len -= got) {
        const size_t want = len < 65536 ? len : 65536;
        buf_reserve(out, want);
        got = fread(out->data + out->len, 1, want, file);
        out->len += got;
    }
}

/* After a ledger that does not decode, reads the next frame; a broken frame ends the file. */
static int frames_print(struct input *in)
{
    int worst = EX_OK;
    for (;; in->index++) {
        buf_clear(&in->buf);
        read_part(in->file, 4, &in->buf);
        if (in->buf.len == 0)
            return worst;
        if (in->buf.len < 4)
            return refuse(in, "the file ends inside a record mark");
        uint32_t mark = be32_get(in->buf.data);
        if ((mark & RECORD_LAST) == 0)
            return refuse(in, "no record mark");
        size_t len = mark & ~RECORD_LAST;
        buf_clear(&in->buf);
        read_part(in->file, len, &in->buf);
        if (in->buf.len < len)
            return refuse(in, "the file ends inside the record");
        int code = ledger_print(in);
        worst = code != EX_OK ? code : worst;
        in->offset += 4 + len;
    }
}

static int file_print(const char *path, bool framed, bool results, const struct network_id *network)
{
    struct input in = {.path = path, .name = basename(path), .network = network, .results = results};
    in.file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (in.file == NULL) {
        fprintf(stderr, "inspect: %s: %s\n", path, strerror(errno));
        return EX_NOINPUT;
    }
    if (!framed)
        read_part(in.file, SIZE_MAX, &in.buf);
    const int code = framed ? frames_print(&in) : ledger_print(&in);
    buf_free(&in.buf);
    fclose(in.file);
    return code;
}

int inspect_ledgers(const struct network_id *network, bool framed, bool results, char **files)
{
    int worst = EX_OK;
    for (; *files != NULL; files++) {
        const int code = file_print(*files, framed, results, network);
        worst = code != EX_OK ? code : worst;
    }
    return worst;
}
