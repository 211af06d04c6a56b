/*
 * Measures ledger_decode: decode [ROUNDS] FILE...  A file is one LedgerCloseMeta of the public network or a
 * record-marked stream of them (distinguished by the first bit); "-" is standard input. Decodes all of them
 * in every round, with their hashes, and prints one line.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "stellar/ledger.h"

#define ROUNDS_DEFAULT 200

struct metas {
    struct bytes *list;
    size_t count, bytes;
};

static void metas_add(struct metas *metas, struct bytes meta)
{
    metas->list = mem_grow(metas->list, metas->count + 1, sizeof *metas->list);
    metas->list[metas->count++] = meta;
    metas->bytes += meta.len;
}

/* The contents live as long as the process. */
static struct bytes file_read(const char *path)
{
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    struct buf buf = {0};
    size_t got = 1;
    while (file != NULL && got > 0) {
        buf_reserve(&buf, 65536);
        got = fread(buf.data + buf.len, 1, 65536, file);
        buf.len += got;
    }
    if (file == NULL || ferror(file)) {
        fprintf(stderr, "decode: %s: %s\n", path, strerror(errno));
        exit(1);
    }
    if (file != stdin)
        fclose(file);
    return buf_bytes(&buf);
}

static void metas_read(struct metas *metas, const char *path)
{
    struct bytes left = file_read(path);
    if (left.len == 0 || left.data[0] < 0x80) {
        metas_add(metas, left);
        return;
    }
    while (left.len >= 4) {
        size_t len = be32_get(left.data) & 0x7fffffff;
        if (len > left.len - 4) {
            fprintf(stderr, "decode: %s ends in a record\n", path);
            exit(1);
        }
        metas_add(metas, (struct bytes){left.data + 4, len});
        left = (struct bytes){left.data + 4 + len, left.len - 4 - len};
    }
}

static size_t decode(struct bytes meta, const struct network_id *network)
{
    struct ledger ledger;
    struct detail detail;
    if (ledger_decode(meta, network, &ledger, &detail) != ERR_OK) {
        fprintf(stderr, "decode: %s\n", detail.text);
        exit(1);
    }
    size_t transactions = ledger.transaction_count;
    ledger_free(&ledger);
    return transactions;
}

int main(int argc, char **argv)
{
    const struct network_id network = network_id_of("Public Global Stellar Network ; September 2015");
    struct metas metas = {0};
    uint64_t rounds = ROUNDS_DEFAULT;
    size_t transactions = 0;
    int first = argc > 1 && text_to_u64(argv[1], UINT32_MAX, &rounds) == ERR_OK ? 2 : 1;
    if (first >= argc || rounds == 0) {
        fprintf(stderr, "usage: decode [ROUNDS] FILE...\n");
        return 64;
    }
    for (int i = first; i < argc; i++)
        metas_read(&metas, argv[i]);
    int64_t start = clock_us();
    for (uint64_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < metas.count; i++)
            transactions += decode(metas.list[i], &network);
    double seconds = (double)(clock_us() - start) / 1e6;
    printf(
        "LedgerCloseMeta decoding: %.0f MB/s, %.0f transactions/s (%zu ledgers, %.2f MB, %llu rounds, %.2f "
        "s)\n",
        (double)metas.bytes * (double)rounds / 1e6 / seconds, (double)transactions / seconds, metas.count,
        (double)metas.bytes / 1e6, (unsigned long long)rounds, seconds);
    free(metas.list);
    return 0;
}
