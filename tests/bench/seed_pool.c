/*
 * seed_pool KEYD MASTER_KEY_FILE DISTRIBUTION_FILE DATABASE_URL PASSPHRASE COUNT: fills a migrated, empty
 * database with a first ledger and COUNT idle channel accounts, which exist on no network. A fairway with the
 * same master key can open their seeds.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "integration/support/pool_seed.h"

static void check(enum err e, const struct detail *detail, const char *doing)
{
    if (e == ERR_OK)
        return;
    fprintf(stderr, "seed_pool: %s: %s: %s\n", doing, err_code(e), detail->text);
    exit(1);
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr,
            "usage: seed_pool KEYD MASTER_KEY_FILE DISTRIBUTION_FILE DATABASE_URL PASSPHRASE COUNT\n");
        return 64;
    }
    struct detail detail = {0};
    struct keyd *keyd;
    struct keyd_secrets secrets = {.fd[SECRET_MASTER_KEY] = open(argv[2], O_RDONLY | O_CLOEXEC),
        .fd[SECRET_PASSPHRASE] = -1,
        .fd[SECRET_DISTRIBUTION] = open(argv[3], O_RDONLY | O_CLOEXEC)};
    const struct keyd_settings settings = {.budget = {1000000, INT64_MAX},
        .network = network_id_of(argv[5]),
        .limits = {.base_fee_stroops = 100},
        .max_lease_fee_stroops = 1000000,
        .max_bump_fee_stroops = 1000000};
    struct master_key_row current;
    struct public_key distribution;
    bool is_new;
    check(keyd_start(argv[1], KEYD_PROVISION, &settings, &secrets, &keyd, &detail), &detail, "key process");
    check(keyd_load(keyd, NULL, 0, &current, &is_new, &distribution, &detail), &detail, "master key");
    struct db *db = db_new(&(struct db_settings){.url = argv[4], .name = "seed_pool"});
    check(pool_seed_network(db, argv[5], &distribution, &detail), &detail, "network");
    check(pool_seed_accounts(db, keyd, 0, strtoul(argv[6], NULL, 10), NULL, &detail), &detail, "accounts");
    check(db_query(db, DB_SQL0("ANALYZE fairway.channel_accounts"), NULL, &detail), &detail, "analyze");
    db_free(db);
    keyd_stop(keyd);
    return 0;
}
