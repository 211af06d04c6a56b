/*
 * mutants COUNT SEED ENVELOPE...: prints mutations of the TransactionEnvelopes in these files, by the schema,
 * with what our decoder makes of each: base64, OK or the error, and the hash on the network "fuzz" (of a fee
 * bump, the inner transaction's), or "-". For differential.test.mjs.
 */

#include "base/mem.h"
#include "base/text.h"
#include "fuzz/xdr_mutator.h"
#include "stellar/envelope_build.h"
#include "xdr/xdr.h"

enum {
    INPUT_MAX = 1 << 14
};

/* libFuzzer's, called by xdr_mutate: one bit flipped. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    static unsigned calls;
    calls++;
    if (size > 0)
        data[calls * 7919 % size] ^= (uint8_t)(1 << calls % 8);
    return size;
}

static size_t read_file(const char *path, uint8_t *out)
{
    FILE *file = fopen(path, "rb");
    RULE(file != NULL);
    size_t size = fread(out, 1, INPUT_MAX, file);
    fclose(file);
    return size;
}

static void print(struct bytes xdr)
{
    const struct network_id network = network_id_of("fuzz");
    AUTO_FREE char *text = base64_encode(xdr);
    char hash[HASH_HEX_SIZE] = "-";
    struct envelope envelope;
    struct detail detail;
    const enum err valid = xdr_check(XDR_TransactionEnvelope, xdr);
    const enum err e = envelope_decode(xdr, &envelope, &detail);
    RULE((e == ERR_OK) == (valid == ERR_OK));
    if (e == ERR_OK) {
        const struct hash found = envelope_hash(&network, &envelope);
        hash_encode(&found, hash);
    }
    printf("%s %s %s\n", text, err_code(valid), hash);
}

int main(int argc, char **argv)
{
    static uint8_t input[INPUT_MAX];
    RULE(argc > 3);
    const unsigned count = (unsigned)strtoul(argv[1], NULL, 10), seed = (unsigned)strtoul(argv[2], NULL, 10);
    for (unsigned i = 0; i < count; i++) {
        size_t size = read_file(argv[3 + i % (unsigned)(argc - 3)], input);
        for (unsigned times = 0; times < i % 6; times++)
            size = xdr_mutate(XDR_TransactionEnvelope, input, size, sizeof input, seed + i * 6 + times);
        print((struct bytes){input, size});
    }
    return 0;
}
