#include "pool_seed.h"

#include <string.h>

#include "base/mem.h"
#include "pool/master_keys.h"

static const char sql_network[] =
    "INSERT INTO fairway.network (passphrase, distribution_account) VALUES ($1, $2)";

static const char sql_ledger[] =
    "INSERT INTO fairway.ledgers (sequence, hash, protocol, close_time, transaction_count)"
    " VALUES ($1, decode(repeat('01', 32), 'hex'), 28,"
    " floor(extract(epoch FROM clock_timestamp()))::int8, 0)";

static const char sql_cursor[] = "INSERT INTO fairway.cursor (sequence, hash, close_time)"
                                 " SELECT sequence, hash, close_time FROM fairway.ledgers";

static const char sql_accounts[] =
    "INSERT INTO fairway.channel_accounts"
    " (public_key, slot, sealed_seed, key_id, sequence, sequence_ledger, state)"
    " SELECT n.public_key, $4::int4 + n.ordinal - 1, n.box, n.key_id, $5, $6, 'active'"
    " FROM unnest($1::text[], $2::bytea[], $3::text[]) WITH ORDINALITY AS n (public_key, box, key_id, "
    "ordinal)";

enum err pool_seed_network(
    struct db *db, const char *passphrase, const struct public_key *distribution, struct detail *detail)
{
    char address[ADDRESS_SIZE];
    address_encode(distribution, address);
    const struct db_statement statements[] = {
        DB_SQL(sql_network, DB_TEXT(passphrase), DB_TEXT(address)),
        DB_SQL(sql_ledger, DB_I64(POOL_SEED_LEDGER)),
        DB_SQL0(sql_cursor),
    };
    return db_run(db, statements, ARRAY_LEN(statements), NULL, detail);
}

static enum err store(
    struct db *db, const struct generated_key keys[], size_t count, int32_t first_slot, struct detail *detail)
{
    char addresses[KEYS_BATCH_MAX][ADDRESS_SIZE];
    const char *texts[KEYS_BATCH_MAX], *key_ids[KEYS_BATCH_MAX];
    struct bytes boxes[KEYS_BATCH_MAX];
    for (size_t i = 0; i < count; i++) {
        address_encode(&keys[i].public_key, addresses[i]);
        texts[i] = addresses[i];
        key_ids[i] = keys[i].sealed.key_id;
        boxes[i] = BYTES_OF(keys[i].sealed.box);
    }
    return db_query(db,
        DB_SQL(sql_accounts, DB_TEXTS(texts, count), DB_BYTEAS(boxes, count), DB_TEXTS(key_ids, count),
            DB_I32(first_slot), DB_I64(POOL_SEED_SEQUENCE), DB_I64(POOL_SEED_LEDGER)),
        NULL, detail);
}

enum err pool_seed_accounts(struct db *db, struct keyd *provision, int32_t first_slot, size_t count,
    struct public_key out[], struct detail *detail)
{
    struct generated_key *keys AUTO_FREE = NEW_ARRAY(KEYS_BATCH_MAX, struct generated_key);
    struct master_key_row row = {.derived = false};
    enum err e = ERR_OK;
    for (size_t made = 0; e == ERR_OK && made < count;) {
        size_t batch = count - made < KEYS_BATCH_MAX ? count - made : KEYS_BATCH_MAX;
        if ((e = keyd_generate(provision, batch, keys)) != ERR_OK)
            break;
        memcpy(row.key_id, keys[0].sealed.key_id, sizeof row.key_id);
        if ((e = master_key_store(db, &row, &row, 1, detail)) == ERR_OK)
            e = store(db, keys, batch, first_slot + (int32_t)made, detail);
        for (size_t i = 0; out != NULL && i < batch; i++)
            out[made + i] = keys[i].public_key;
        made += batch;
    }
    return e;
}
