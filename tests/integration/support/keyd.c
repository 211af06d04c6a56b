#include "keyd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include <sodium.h>

#include "stellar/strkey.h"

const char *keyd_program(void)
{
    const char *program = getenv("FAIRWAY_KEYD");
    return program != NULL ? program : "build/release/fairway-keyd";
}

int secret_of(const void *data, size_t len)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], data, len), len);
    close(ends[1]);
    return ends[0];
}

int secret_of_text(const char *text)
{
    return secret_of(text, strlen(text));
}

static void distribution_seed(char text[STRKEY_SIZE])
{
    uint8_t seed[32];
    memset(seed, 11, sizeof seed);
    strkey_encode(STRKEY_SEED, seed, text);
}

struct public_key keyd_distribution(void)
{
    uint8_t seed[32], secret[crypto_sign_SECRETKEYBYTES];
    struct public_key key;
    memset(seed, 11, sizeof seed);
    crypto_sign_seed_keypair(key.bytes, secret, seed);
    return key;
}

struct keyd_secrets keyd_known_secrets(void)
{
    uint8_t master[32];
    char seed[STRKEY_SIZE];
    memset(master, 7, sizeof master);
    distribution_seed(seed);
    return (struct keyd_secrets){.fd[SECRET_MASTER_KEY] = secret_of(master, sizeof master),
        .fd[SECRET_PASSPHRASE] = -1,
        .fd[SECRET_DISTRIBUTION] = secret_of_text(seed)};
}

struct keyd_settings keyd_test_settings(void)
{
    return (struct keyd_settings){.budget = {1000000, INT64_MAX},
        .network = network_id_of(KEYD_TEST_PASSPHRASE),
        .limits = {.base_fee_stroops = 100, .max_resource_fee_stroops = 1000000},
        .max_lease_fee_stroops = 10000,
        .max_bump_fee_stroops = 100000};
}

struct keyd *keyd_loaded(enum keyd_mode mode)
{
    struct keyd *keyd;
    struct keyd_secrets secrets = keyd_known_secrets();
    struct keyd_settings settings = keyd_test_settings();
    struct master_key_row current;
    struct public_key distribution;
    struct detail detail = {0};
    bool is_new;
    if (keyd_start(keyd_program(), mode, &settings, &secrets, &keyd, &detail) != ERR_OK ||
        keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, &detail) != ERR_OK)
        fail_msg("%s: %s", keyd_program(), detail.text);
    return keyd;
}

void keyd_accounts(struct generated_key out[], size_t count)
{
    AUTO_KEYD keyd = keyd_loaded(KEYD_PROVISION);
    assert_int_equal(keyd_generate(keyd, count, out), ERR_OK);
}

void keyd_stop_at(struct keyd **keyd)
{
    keyd_stop(*keyd);
}

void lease_transaction(const struct public_key *source, uint64_t max_time_s, struct buf *out)
{
    /* Built as a merge of another account into the source: one operation with its own source. */
    const struct provisioning_tx merge = {.kind = PROVISIONING_MERGE,
        .distribution = *source,
        .sequence = 1,
        .fee_stroops = 100,
        .max_time_s = max_time_s,
        .account_count = 1,
        .accounts = {{{1, 2, 3}}}};
    provisioning_tx_build(&merge, out);
}
