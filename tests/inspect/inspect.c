#include "inspect.h"

#include <string.h>
#include <sysexits.h>

void inspect_print(json_t *json)
{
    json_dumpf(json, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(json);
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

int main(int argc, char **argv)
{
    struct network_id network, *checked = NULL;
    bool framed = false, results = false;
    char **rest = argv + 2;
    for (; argc > 2 && *rest != NULL && strncmp(*rest, "--", 2) == 0; rest++)
        if (strcmp(*rest, "--framed") == 0) {
            framed = true;
        } else if (strcmp(*rest, "--results") == 0) {
            results = true;
        } else if (strcmp(*rest, "--network-passphrase") == 0 && rest[1] != NULL) {
            network = network_id_of(*++rest);
            checked = &network;
        } else {
            break;
        }
    if (argc > 2 && *rest != NULL && strcmp(argv[1], "ledgers") == 0)
        return inspect_ledgers(checked, framed, results, rest);
    if (argc > 2 && *rest != NULL && strcmp(argv[1], "transaction") == 0)
        return inspect_transaction(checked, *rest);
    fputs(
        "usage: inspect ledgers [--framed] [--results] [--network-passphrase TEXT] FILE...\n"
        "       inspect transaction [--network-passphrase TEXT] BASE64\n"
        "--framed: streams with record marks, as stellar-core writes them. FILE may be -: standard input.\n",
        stderr);
    return EX_USAGE;
}
