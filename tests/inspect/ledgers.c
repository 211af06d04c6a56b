#include "inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "base/mem.h"
#include "stellar/ledger.h"

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

struct named_account {
    char address[ADDRESS_SIZE];
    const struct ledger_account *account;
};

static int by_address(const void *a, const void *b)
{
    return strcmp(((const struct named_account *)a)->address, ((const struct named_account *)b)->address);
}

/* Sorted by the address text, whose order differs from that of the keys: base32 puts letters before digits,
 * ASCII digits before letters. */
static json_t *accounts_json(const struct ledger *ledger)
{
    AUTO_FREE struct named_account *named = NEW_ARRAY(ledger->account_count, struct named_account);
    for (size_t i = 0; i < ledger->account_count; i++) {
        named[i].account = &ledger->accounts[i];
        address_encode(&ledger->accounts[i].key, named[i].address);
    }
    qsort(named, ledger->account_count, sizeof *named, by_address);
    json_t *accounts = json_object();
    for (size_t i = 0; i < ledger->account_count; i++)
        json_object_set_new(accounts, named[i].address,
            named[i].account->removed ? json_null() : inspect_i64(named[i].account->sequence));
    return accounts;
}

static json_t *ledger_json(const char *file, size_t index, const struct ledger *ledger)
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
    json_object_set_new(out, "accounts", accounts_json(ledger));
    return out;
}

/* A file of ledgers and the position in it. */
struct input {
    const char *path, *name;
    FILE *file;
    const struct network_id *network; /* NULL: the transaction set is not checked */
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
    int code = EX_OK;
    inspect_print(ledger_json(in->name, in->index, &ledger));
    if (!ledger.hash_proved)
        code = refuse(in, "its hash is not the SHA-256 of its header");
    if (code == EX_OK && !ledger.results_proved)
        code = refuse(in, "the txSetResultHash of its header is not the hash of its results");
    if (code == EX_OK && in->network != NULL && !ledger.set_proved)
        code = refuse(in, "the txSetHash of its header is not the hash of its transactions, or they are not "
                          "those of its results");
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

static int file_print(const char *path, bool framed, const struct network_id *network)
{
    struct input in = {.path = path, .name = basename(path), .network = network};
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

int inspect_ledgers(const struct network_id *network, bool framed, char **files)
{
    int worst = EX_OK;
    for (; *files != NULL; files++) {
        const int code = file_print(*files, framed, network);
        worst = code != EX_OK ? code : worst;
    }
    return worst;
}
