#include "inspect.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>

#include "base/text.h"
#include "commands.h"

static const char usage[] =
    "usage: fairway inspect ledgers [--framed] [--network-passphrase TEXT] FILE...\n"
    "       fairway inspect transaction [--network-passphrase TEXT] XDR\n"
    "\n"
    "ledgers      prints one JSON object for each LedgerCloseMeta; --framed: FILEs are streams with record\n"
    "             marks, as stellar-core writes them; with a passphrase, the transaction set is checked\n"
    "transaction  prints one JSON object for a base64 TransactionEnvelope\n"
    "             (environment: NETWORK_PASSPHRASE; without a passphrase, hash is null)\n"
    "FILE or XDR may be -: standard input.\n";

int inspect_usage(const char *error, const char *which)
{
    fprintf(stderr, "fairway inspect: %s%s\n%s", error, which, usage);
    return EX_USAGE;
}

int inspect_print(json_t *json)
{
    int failed = json_dumpf(json, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF;
    json_decref(json);
    if (!failed)
        return EX_OK;
    fprintf(stderr, "fairway inspect: standard output: %s\n", strerror(errno));
    return EX_IOERR;
}

void inspect_read(FILE *file, size_t len, struct buf *out)
{
    size_t got = 1;
    while (len > 0 && got > 0) {
        size_t want = len < 65536 ? len : 65536;
        buf_reserve(out, want);
        got = fread(out->data + out->len, 1, want, file);
        out->len += got;
        len -= got;
    }
}

int inspect_passphrase(int argc, char **argv, int i, const char **passphrase)
{
    static const char flag[] = "--network-passphrase";
    if (strcmp(argv[i], flag) == 0 && i + 1 < argc) {
        *passphrase = argv[i + 1];
        return 2;
    }
    if (!text_starts(argv[i], flag) || argv[i][sizeof flag - 1] != '=')
        return 0;
    *passphrase = argv[i] + sizeof flag;
    return 1;
}

json_t *inspect_hash(const struct hash *hash)
{
    char text[HASH_HEX_SIZE];
    hash_encode(hash, text);
    return json_string(text);
}

json_t *inspect_i64(int64_t value)
{
    return json_sprintf("%lld", (long long)value);
}

json_t *inspect_u64(uint64_t value)
{
    return json_sprintf("%llu", (unsigned long long)value);
}

static int run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0)
        return fputs(usage, stdout) == EOF ? EX_IOERR : EX_OK;
    if (strcmp(what, "ledgers") == 0)
        return inspect_ledgers(argc - 1, argv + 1);
    if (strcmp(what, "transaction") == 0)
        return inspect_transaction(argc - 1, argv + 1);
    return inspect_usage(what[0] == '\0' ? "ledgers or transaction?" : "unknown argument ", what);
}

int cmd_inspect(int argc, char **argv)
{
    int code = run(argc, argv);
    if (fflush(stdout) == 0)
        return code;
    fprintf(stderr, "fairway inspect: standard output: %s\n", strerror(errno));
    return EX_IOERR;
}
