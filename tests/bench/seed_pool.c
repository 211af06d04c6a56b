/*
 * seed_pool KEYD MASTER_KEY_FILE DISTRIBUTION_FILE DATABASE_URL PASSPHRASE COUNT: fills a migrated, empty
 * database with COUNT idle channel accounts that no network knows, whose seeds a fairway with the same master
 * key can open; and a first ledger.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "db/db.h"
#include "keys/keyd.h"

#define FIRST_LEDGER 1000

static void check(enum err e, const struct detail *detail, const char *doing)
{
    if (e == ERR_OK)
        return;
    fprintf(stderr, "seed_pool: %s: %s: %s\n", doing, err_code(e), detail->text);
    exit(1);
}

static void run(struct db *db, struct db_statement statement)
{
    struct detail detail = {0};
    check(db_query(db, statement, NULL, &detail), &detail, statement.sql);
}

static void store(struct db *db, const struct generated_key keys[], size_t count, int32_t first_slot)
{
    static char addresses[SIGN_BATCH_MAX][ADDRESS_SIZE];
    const char *texts[SIGN_BATCH_MAX], *ids[SIGN_BATCH_MAX];
    struct bytes boxes[SIGN_BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        address_encode(&keys[i].public_key, addresses[i]);
        texts[i] = addresses[i];
        ids[i] = keys[i].sealed.key_id;
        boxes[i] = BYTES_OF(keys[i].sealed.box);
    }
    run(db,
        DB_SQL("INSERT INTO fairway.channel_accounts"
               " (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)"
               " SELECT n.public_key, $4::int4 + n.ordinal - 1, n.box, n.key_id, $5::int8 << 32, $5, 'active'"
               " FROM unnest($1::text[], $2::bytea[], $3::text[]) WITH ORDINALITY"
               " AS n (public_key, box, key_id, ordinal)",
            DB_TEXTS(texts, count), DB_BYTEAS(boxes, count), DB_TEXTS(ids, count), DB_I32(first_slot),
            DB_I64(FIRST_LEDGER)));
}

static void bind(
    struct db *db, const char *passphrase, const struct public_key *distribution, const char *key_id)
{
    char address[ADDRESS_SIZE];
    address_encode(distribution, address);
    run(db, DB_SQL("INSERT INTO fairway.network (passphrase, distribution_account) VALUES ($1, $2)",
                DB_TEXT(passphrase), DB_TEXT(address)));
    run(db, DB_SQL("INSERT INTO fairway.master_keys (key_id) VALUES ($1)", DB_TEXT(key_id)));
    run(db, DB_SQL("INSERT INTO fairway.ledgers (sequence, hash, previous_hash, protocol, close_time, "
                   "transaction_count,"
                   " settled_count) VALUES ($1, decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), "
                   "'hex'), 28,"
                   " extract(epoch FROM clock_timestamp())::int8, 0, 0)",
                DB_I64(FIRST_LEDGER)));
    run(db,
        DB_SQL0("INSERT INTO fairway.cursor (sequence, hash, close_time) SELECT sequence, hash, close_time"
                " FROM fairway.ledgers"));
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
    struct keyd_secrets secrets = {.master_key_fd = open(argv[2], O_RDONLY | O_CLOEXEC),
        .passphrase_fd = -1,
        .distribution_fd = open(argv[3], O_RDONLY | O_CLOEXEC)};
    struct keyd_settings settings = {.network = network_id_of(argv[5]),
        .limits = {.base_fee_stroops = 100},
        .max_lease_fee_stroops = 1000000,
        .max_bump_fee_stroops = 1000000};
    struct master_key_row current;
    struct public_key distribution;
    bool is_new;
    check(keyd_start(argv[1], KEYD_PROVISION, &secrets, &keyd, &detail), &detail, "key process");
    check(keyd_load(keyd, &settings, NULL, 0, &current, &is_new, &distribution, &detail), &detail,
        "master key");
    struct db *db = db_new(&(struct db_settings){.url = argv[4], .kind = DB_DIRECT, .name = "seed_pool"});
    bind(db, argv[5], &distribution, current.key_id);
    static struct generated_key keys[SIGN_BATCH_MAX];
    size_t count = strtoul(argv[6], NULL, 10);
    for (size_t made = 0; made < count;) {
        size_t batch = count - made < SIGN_BATCH_MAX ? count - made : SIGN_BATCH_MAX;
        check(keyd_generate(keyd, batch, keys), &detail, "generate");
        store(db, keys, batch, (int32_t)made);
        made += batch;
    }
    run(db, DB_SQL0("ANALYZE fairway.channel_accounts"));
    db_free(db);
    keyd_stop(keyd);
    return 0;
}
