/*
 * DS4: a sealed seed with any bit flipped or of any other length is never signed with: by the key process,
 * which gets it in a message, and by fairway, which reads it from the database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "keys/server.h"
#include "pool/account_read.h"
#include "support/keyd.h"
#include "support/keyd_raw.h"
#include "support/pg.h"
#include "support/pool.h"

#define MORE 64 /* bytes beyond the right length */
#define SEALED_SIZE (KEY_ID_SIZE - 1 + SEAL_SIZE)

static struct generated_key account;
static struct buf transaction;

/* ---- bits, through the client */

static void flip(struct lease_signing *item, size_t bit)
{
    uint8_t *const parts[] = {(uint8_t *)item->sealed.key_id, item->sealed.box, item->signer.bytes};
    const size_t sizes[] = {KEY_ID_SIZE - 1, SEAL_SIZE, sizeof item->signer.bytes};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (bit / 8 < sizes[i]) {
            parts[i][bit / 8] ^= (uint8_t)(1 << bit % 8);
            return;
        }
        bit -= sizes[i] * 8;
    }
}

static void DS4_the_key_process_signs_with_no_seed_that_has_a_flipped_bit(void **state)
{
    (void)state;
    enum {
        BITS = (SEALED_SIZE + 32) * 8
    };
    const struct signature none = {0};
    struct lease_signing *items AUTO_FREE = NEW_ARRAY(BITS + 1, struct lease_signing);
    struct keyd *keyd = keyd_loaded(KEYD_SERVE);
    for (size_t bit = 0; bit <= BITS; bit++) {
        items[bit] = (struct lease_signing){
            .transaction = buf_bytes(&transaction), .signer = account.public_key, .sealed = account.sealed};
        flip(&items[bit], bit); /* none in the last one */
    }
    assert_int_equal(keyd_sign_leases(keyd, (uint64_t)time(NULL), 0, items, BITS + 1), ERR_OK);
    for (size_t bit = 0; bit < BITS; bit++) {
        if (items[bit].result == ERR_OK)
            fail_msg("bit %zu", bit);
        assert_memory_equal(&items[bit].signature, &none, sizeof none);
    }
    assert_int_equal(items[BITS].result, ERR_OK);
    keyd_stop(keyd);
}

/* ---- lengths, in messages */

/* The first len bytes of key id and box, and then filler. */
static void put_seed(struct buf *out, size_t len, uint8_t filler)
{
    struct buf sealed CLEANUP(buf_free) = {0};
    wire_put_sealed(&sealed, &account.sealed);
    assert_int_equal(sealed.len, SEALED_SIZE);
    for (size_t i = 0; i < len; i++)
        buf_add(out, i < sealed.len ? &sealed.data[i] : &filler, 1);
}

/* Whether the key process signs. *child is started again when it has ended. */
static bool signs(struct spawn_child *child, uint32_t type, const struct buf *message)
{
    struct wire_header header;
    struct buf answer CLEANUP(buf_free) = {0};
    raw_send(child, type, message);
    if (wire_read_header(child->fd, &header, clock_ms() + 10000) != WIRE_DONE) {
        int status;
        assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
        assert_int_equal(WEXITSTATUS(status), VIOLATION_MALFORMED);
        close(child->fd);
        close(child->pidfd);
        *child = raw_spawn(KEYD_SERVE);
        raw_load(child);
        return false;
    }
    assert_int_equal(wire_read_payload(child->fd, header.len, &answer, clock_ms() + 10000), WIRE_DONE);
    return be32_get(answer.data) == ERR_OK;
}

static void put_lease(struct buf *out, size_t len, uint8_t filler)
{
    buf_add_u64(out, (uint64_t)time(NULL));
    buf_add_u32(out, 1);
    buf_add(out, account.public_key.bytes, sizeof account.public_key.bytes);
    put_seed(out, len, filler);
    wire_put_bytes(out, buf_bytes(&transaction));
}

static void put_bump(struct buf *out, size_t len, uint8_t filler)
{
    buf_add_u32(out, 1);
    buf_add_u64(out, 500);
    put_seed(out, len, filler);
    wire_put_bytes(out, buf_bytes(&transaction));
}

static void DS4_the_key_process_signs_with_no_seed_of_another_length(void **state)
{
    (void)state;
    struct spawn_child child = raw_spawn(KEYD_SERVE);
    raw_load(&child);
    for (size_t len = 0; len <= SEALED_SIZE + MORE; len++)
        for (int filler = 0; filler < 256; filler += 255) {
            struct buf lease CLEANUP(buf_free) = {0}, bump CLEANUP(buf_free) = {0};
            put_lease(&lease, len, (uint8_t)filler);
            put_bump(&bump, len, (uint8_t)filler);
            assert_int_equal(signs(&child, WIRE_LEASES, &lease), len == SEALED_SIZE);
            assert_false(signs(&child, WIRE_FEE_BUMPS, &bump)); /* the transaction has no signature */
        }
    assert_int_equal(raw_end(&child), EX_OK);
}

/* ---- lengths, in the database */

static void run(struct test_pool *pool, struct db_statement statement)
{
    struct detail detail = {0};
    if (db_query(pool->db, statement, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

static void DS4_a_seed_of_another_length_is_not_read_from_the_database(void **state)
{
    struct test_pool *pool = *state;
    const struct public_key key = pool->accounts[0];
    struct sealed_seed sealed;
    struct detail detail = {0};
    const uint8_t box[SEAL_SIZE + MORE] = {0};
    /* the database itself refuses such a row */
    assert_int_equal(db_query(pool->db,
                         DB_SQL("UPDATE fairway.channel_accounts SET sealed_seed = $1",
                             DB_BYTEA(((struct bytes){box, 71}))),
                         NULL, &detail),
        ERR_CONSTRAINT);
    run(pool,
        DB_SQL0("ALTER TABLE fairway.channel_accounts DROP CONSTRAINT channel_accounts_sealed_seed_check"));
    for (size_t len = 0; len <= sizeof box; len++) {
        run(pool, DB_SQL("UPDATE fairway.channel_accounts SET sealed_seed = $1",
                      DB_BYTEA(((struct bytes){box, len}))));
        assert_int_equal(
            account_read_seed_of(pool->db, &key, &sealed, &detail), len == SEAL_SIZE ? ERR_OK : ERR_INTERNAL);
    }
}

static int set_up(void **state)
{
    keyd_accounts(&account, 1);
    lease_transaction(&account.public_key, (uint64_t)time(NULL) + 250, &transaction);
    return test_pg_start(state);
}

static int tear_down(void **state)
{
    buf_free(&transaction);
    return test_pg_stop(state);
}

static int open_pool(void **state)
{
    return test_pool_set_up(state, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(DS4_the_key_process_signs_with_no_seed_that_has_a_flipped_bit),
        cmocka_unit_test(DS4_the_key_process_signs_with_no_seed_of_another_length),
        cmocka_unit_test_setup_teardown(
            DS4_a_seed_of_another_length_is_not_read_from_the_database, open_pool, test_pool_tear_down),
    };
    return cmocka_run_group_tests_name("sealed seeds", tests, set_up, tear_down);
}
