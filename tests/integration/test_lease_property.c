/*
 * DL15: random sequences of operations on the pool, on the real SQL and on a reference state machine
 * (support/reference.h). After every step the tables equal the machine. A failing sequence is shortened
 * before it is printed. FAIRWAY_SEED repeats a run, FAIRWAY_STEPS or FAIRWAY_SIZE=long make it longer.
 */
#include "support/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define CASE_STEPS 40
#define QUICK_STEPS 2000
#define LONG_STEPS 1000000

static const char *const kind_names[] = {
    "grant", "bad grant", "cut grant", "ledger", "time", "retire", "gap", "hold", "lose session"};

#define WRONG(run, ...) (snprintf((run)->wrong, sizeof(run)->wrong, __VA_ARGS__), false)

/* ---- the tables equal the machine */

static const char sql_accounts[] =
    "SELECT a.public_key, a.state, coalesce(a.sequence, 0), coalesce(a.sequence_ledger, 0), a.lease_hash"
    " FROM fairway.channel_accounts a JOIN public.seeded s USING (public_key) ORDER BY s.slot";

static const char sql_leases[] = "SELECT l.hash, coalesce(l.result, 'open') FROM fairway.lease_history l"
                                 " JOIN unnest($1::bytea[]) WITH ORDINALITY AS n (hash, ordinal) USING (hash)"
                                 " ORDER BY n.ordinal";

static struct db_rows *read_rows(struct run *run, struct db_statement statement)
{
    struct db_rows *rows = NULL;
    struct detail detail = {0};
    if (db_query(run->pool.db, statement, &rows, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
    return rows;
}

static bool accounts_equal(struct run *run)
{
    AUTO_ROWS rows = read_rows(run, DB_SQL0(sql_accounts));
    for (size_t n = 0; n < REFERENCE_ACCOUNTS; n++) {
        const struct reference_account *account = &run->reference.accounts[n];
        const struct reference_lease *lease = reference_open_lease(&run->reference, n);
        struct bytes hash = db_bytea(rows, n, 4);
        if (strcmp(db_text(rows, n, 1), account->state) != 0 || db_i64(rows, n, 2) != account->sequence ||
            db_i64(rows, n, 3) != account->ledger)
            return WRONG(run, "account %zu is %s %" PRId64 " of %" PRId64 ", not %s %" PRId64 " of %" PRId64,
                n, db_text(rows, n, 1), db_i64(rows, n, 2), db_i64(rows, n, 3), account->state,
                account->sequence, account->ledger);
        if ((hash.data != NULL) != (lease != NULL) ||
            (lease != NULL && memcmp(hash.data, lease->hash.bytes, sizeof lease->hash.bytes) != 0))
            return WRONG(
                run, "account %zu is %s", n, lease == NULL ? "leased" : "not leased to the open lease");
    }
    return true;
}

static bool leases_equal(struct run *run)
{
    struct bytes hashes[REFERENCE_LEASES];
    for (size_t i = 0; i < run->reference.lease_count; i++)
        hashes[i] = BYTES_OF(run->reference.leases[i].hash.bytes);
    AUTO_ROWS rows = read_rows(run, DB_SQL(sql_leases, DB_BYTEAS(hashes, run->reference.lease_count)));
    AUTO_ROWS all = read_rows(run, DB_SQL0("SELECT count(*) FROM fairway.leases"));
    if (db_i64(all, 0, 0) != (int64_t)run->reference.lease_count ||
        db_count(rows) != run->reference.lease_count)
        return WRONG(run, "%" PRId64 " leases, not %zu", db_i64(all, 0, 0), run->reference.lease_count);
    for (size_t i = 0; i < db_count(rows); i++)
        if (strcmp(db_text(rows, i, 1), run->reference.leases[i].result) != 0)
            return WRONG(run, "lease %zu, of account %zu, is %s, not %s", i, run->reference.leases[i].account,
                db_text(rows, i, 1), run->reference.leases[i].result);
    return true;
}

/* ---- sequences */

static struct step draw_step(unsigned *random)
{
    static const enum kind often[] = {GRANT, GRANT, GRANT, GRANT, GRANT, GRANT, GRANT, LEDGER, LEDGER, LEDGER,
        LEDGER, LEDGER, LEDGER, TIME, TIME, RETIRE};
    static const enum kind seldom[] = {GRANT_BAD, GRANT_CUT, GAP, HOLD, LOSE_SESSION};
    enum kind kind = draw(random, 8) == 0 ? seldom[draw(random, ARRAY_LEN(seldom))]
                                          : often[draw(random, ARRAY_LEN(often))];
    return (struct step){kind, draw(random, 65536)};
}

/* Runs the steps until one fails. Returns whether none did. */
static bool steps_right(struct run *run, const struct step steps[], size_t count, size_t *taken)
{
    steps_begin(run);
    for (*taken = 0; *taken < count;)
        if (!step_take(run, &steps[(*taken)++]) || !accounts_equal(run) || !leases_equal(run))
            return false;
    return true;
}

/* Removes steps as long as the sequence still fails. */
static size_t shrink(struct run *run, struct step steps[], size_t count)
{
    size_t taken;
    for (size_t length = count / 2; length > 0; length /= 2)
        for (size_t at = 0; at + length <= count;) {
            struct step fewer[CASE_STEPS];
            memcpy(fewer, steps, at * sizeof steps[0]);
            memcpy(fewer + at, steps + at + length, (count - at - length) * sizeof steps[0]);
            if (steps_right(run, fewer, count - length, &taken)) {
                at += length;
                continue;
            }
            count = taken;
            memcpy(steps, fewer, count * sizeof steps[0]);
        }
    return count;
}

static void show(struct run *run, struct step steps[], size_t count)
{
    size_t taken;
    count = shrink(run, steps, count);
    bool again = !steps_right(run, steps, count, &taken);
    for (size_t i = 0; i < count; i++)
        print_message("  %zu. %s %u\n", i + 1, kind_names[steps[i].kind], steps[i].random);
    fail_msg("%s", again ? run->wrong : "the failure did not occur again");
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
    const char *value = getenv(name);
    return value != NULL ? (unsigned)strtoul(value, NULL, 10) : otherwise;
}

TEST(DL15_after_every_step_of_any_sequence_the_tables_equal_the_reference_machine)
{
    struct run *run AUTO_FREE = NEW(struct run);
    const char *size = getenv("FAIRWAY_SIZE");
    unsigned seed = from_environment("FAIRWAY_SEED", (unsigned)time(NULL));
    const unsigned wanted = from_environment(
        "FAIRWAY_STEPS", size != NULL && strcmp(size, "long") == 0 ? LONG_STEPS : QUICK_STEPS);
    size_t done = 0, leases = 0, kinds[KINDS] = {0};
    print_message("FAIRWAY_SEED=%u\n", seed);
    test_pool_open(&run->pool, REFERENCE_ACCOUNTS);
    steps_install(run);
    while (done < wanted) {
        struct step steps[CASE_STEPS];
        size_t taken;
        for (size_t i = 0; i < CASE_STEPS; i++) {
            steps[i] = draw_step(&seed);
            kinds[steps[i].kind]++;
        }
        if (!steps_right(run, steps, CASE_STEPS, &taken))
            show(run, steps, taken);
        done += taken;
        leases += run->reference.lease_count;
    }
    print_message("%zu steps, %zu leases, 0 differences\n", done, leases);
    for (size_t i = 0; i < KINDS; i++)
        assert_true(kinds[i] > 0);
    assert_true(leases > done / 4);
    test_pool_close(&run->pool);
}

GROUP_FIXTURE(test_pg_start, test_pg_stop)
