#include "steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "pool_rows.h"

#define ITEMS_MAX 4
#define CREATING_FROM 6 /* this account and later ones do not exist at first */

#define WRONG(run, ...) (snprintf((run)->wrong, sizeof(run)->wrong, __VA_ARGS__), false)

unsigned draw(unsigned *random, unsigned below)
{
    *random = *random * 1103515245u + 12345u;
    return (*random >> 16) % below;
}

/* ---- the beginning of a sequence */

static const char sql_reset[] =
    "BEGIN; " TEST_DELETE_LEASES "UPDATE fairway.channel_accounts a SET quarantine_reason = NULL, slot = "
    "s.slot, state = CASE WHEN s.slot < 6 THEN 'active' ELSE 'creating' "
    "END,"
    " sequence = CASE WHEN s.slot < 6 THEN s.sequence END,"
    " sequence_ledger = CASE WHEN s.slot < 6 THEN s.sequence_ledger END"
    " FROM public.seeded s WHERE s.public_key = a.public_key;"
    "UPDATE fairway.cursor SET grants_allowed = true, grants_reason = NULL, held_until = NULL, hold_reason ="
    " NULL, close_time = floor(extract(epoch FROM clock_timestamp()))::int8; COMMIT";

/* Triggers on leases kill the session or refuse the row. */
static const char sql_plant[] =
    "CREATE TABLE public.seeded AS SELECT public_key, slot, sequence, sequence_ledger FROM"
    " fairway.channel_accounts;"
    "CREATE FUNCTION public.planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
    " IF NEW.request_id = 'bad' THEN RAISE EXCEPTION 'planted'; END IF;"
    " IF NEW.request_id = 'cut' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;"
    " RETURN NULL; END $$;"
    "CREATE TRIGGER planted AFTER INSERT ON fairway.leases FOR EACH ROW EXECUTE FUNCTION public.planted()";

/* Seeds random(), by which the pool chooses accounts, so that a sequence makes the same choices each time. If
 * the session was killed in the last run, the first query fails and the second one opens another session. */
static void repeat_choices(struct run *run)
{
    struct detail detail = {0};
    const struct db_statement seed = DB_SQL0("SELECT setseed(0.25)");
    if (db_query(run->pool.db, seed, NULL, &detail) != ERR_OK &&
        db_query(run->pool.db, seed, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

void steps_install(struct run *run)
{
    test_db_exec(&run->pool.test, sql_plant);
}

void steps_begin(struct run *run)
{
    test_db_exec(&run->pool.test, sql_reset);
    run->reference = (struct reference){
        .tip = (uint32_t)test_db_number(&run->pool.test, "SELECT sequence FROM fairway.cursor")};
    for (size_t i = 0; i < REFERENCE_ACCOUNTS; i++)
        run->reference.accounts[i] = i < CREATING_FROM
                                         ? (struct reference_account){"active", (int64_t)1000 << 32, 1000}
                                         : (struct reference_account){"creating", 0, 0};
    run->counter = 0;
    run->wrong[0] = '\0';
    repeat_choices(run);
}

static size_t account_of(const struct run *run, const struct public_key *key)
{
    for (size_t i = 0; i < REFERENCE_ACCOUNTS; i++)
        if (public_key_equal(&run->pool.accounts[i], key))
            return i;
    fail_msg("the account is not in the pool");
    return 0;
}

/* ---- grants */

struct item {
    bool forbidden, dead; /* it has an operation of a pool account; its max ledger is too near */
    uint32_t max_ledger;
    unsigned timeout_s;
};

static void ask_item(struct run *run, struct asked *asked, const struct item *item)
{
    *asked = (struct asked){.sample = SAMPLE};
    add_payment(&asked->sample, PLAIN, (uint8_t)(1 + run->counter % 150));
    add_payment(&asked->sample, PLAIN, (uint8_t)(1 + run->counter++ / 150));
    if (item->forbidden)
        memcpy(asked->sample.operations.data + 8, run->pool.accounts[run->counter % REFERENCE_ACCOUNTS].bytes,
            32);
    if (item->max_ledger != 0)
        set_v2(&asked->sample, (struct sample_v2){.ledgers = true, .max_ledger = item->max_ledger});
    ask_sample(&run->pool, asked);
    asked->request.timeout_s = item->timeout_s;
}

static struct item draw_item(const struct run *run, unsigned *random)
{
    struct item item = {.forbidden = draw(random, 8) == 0, .timeout_s = 20 + draw(random, 281)};
    if (draw(random, 2) == 0) {
        unsigned ahead = 1 + draw(random, 8);
        item.max_ledger = run->reference.tip + ahead;
        item.dead = ahead <= 2;
    }
    return item;
}

static bool check_done(struct run *run, const struct item *item, const struct lease *lease, time_t begun)
{
    const struct reference_lease granted = {.hash = lease->hash,
        .account = account_of(run, &lease->account),
        .sequence = lease->sequence,
        .max_time_s = lease->max_time_s,
        .max_ledger = item->max_ledger};
    const char *complaint = reference_grant(&run->reference, &granted);
    if (complaint != NULL)
        return WRONG(run, "%s", complaint);
    if (lease->max_time_s < (uint64_t)begun + item->timeout_s - 1 ||
        lease->max_time_s > (uint64_t)time(NULL) + item->timeout_s + 1)
        return WRONG(run, "max time %" PRIu64 " for a timeout of %u s", lease->max_time_s, item->timeout_s);
    return true;
}

/* Checks the items in the order of the batch: a request that must be refused is refused also when no account
 * is idle. */
static bool check_item(struct run *run, const struct item *item, const struct asked *asked, time_t begun)
{
    enum grant_state expected = item->forbidden || item->dead          ? GRANT_REFUSED
                                : reference_idle(&run->reference) == 0 ? GRANT_OPEN
                                                                       : GRANT_DONE;
    if (asked->grant.state != expected)
        return WRONG(run, "a grant ended in state %d, not %d", asked->grant.state, expected);
    if (expected == GRANT_REFUSED &&
        asked->grant.error != (item->forbidden ? ERR_FORBIDDEN_SIGNER : ERR_INVALID_TRANSACTION))
        return WRONG(run, "refused with %s", err_code(asked->grant.error));
    return expected != GRANT_DONE || check_done(run, item, &asked->grant.lease, begun);
}

/* Whether any lease would be recorded: only then can the trigger fire. */
static bool reaches_record(struct run *run, const struct item items[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!items[i].forbidden && !items[i].dead)
            return reference_idle(&run->reference) > 0;
    return false;
}

static bool check_grants(struct run *run, enum kind kind, const struct item items[], struct asked asked[],
    size_t count, enum err e, time_t begun)
{
    bool stopped = run->reference.suspended || run->reference.held;
    bool faulty = kind != GRANT && reaches_record(run, items, count);
    if ((e == ERR_OK) != (!stopped && !faulty) || (stopped && e != ERR_GRANTS_SUSPENDED) ||
        (!stopped && faulty && kind == GRANT_BAD && e != ERR_CONSTRAINT) ||
        (!stopped && faulty && kind == GRANT_CUT && err_status(e) != 503))
        return WRONG(run, "the grant of %zu ended with %s", count, err_code(e));
    for (size_t i = 0; i < count; i++) {
        if (e != ERR_OK && asked[i].grant.state != GRANT_OPEN)
            return WRONG(run, "decided in a transaction that failed");
        if (e == ERR_OK && !check_item(run, &items[i], &asked[i], begun))
            return false;
    }
    return true;
}

static bool grant(struct run *run, enum kind kind, unsigned random)
{
    struct item items[ITEMS_MAX];
    struct asked asked[ITEMS_MAX];
    struct detail detail = {0};
    size_t count = 1 + draw(&random, ITEMS_MAX);
    time_t begun = time(NULL);
    for (size_t i = 0; i < count; i++) {
        items[i] = draw_item(run, &random);
        ask_item(run, &asked[i], &items[i]);
        if (kind != GRANT)
            snprintf(asked[i].request.request_id, sizeof asked[i].request.request_id, "%s",
                kind == GRANT_BAD ? "bad" : "cut");
    }
    enum err e = test_pool_grant(&run->pool, asked, count, &detail);
    bool right = check_grants(run, kind, items, asked, count, e, begun);
    for (size_t i = 0; i < count; i++)
        asked_wipe(&asked[i]);
    if (kind == GRANT_CUT)
        repeat_choices(run);
    return right;
}

/* ---- ledgers */

static enum event draw_event(struct run *run, size_t n, unsigned *random)
{
    static const enum event of_leased[] = {NOTHING, NOTHING, NOTHING, NOTHING, INCLUDED, INCLUDED, INCLUDED,
        INCLUDED_FAILED, INCLUDED_FOR_FREE, FOREIGN_USE};
    const struct reference_account *account = &run->reference.accounts[n];
    unsigned luck = draw(random, 40), choice = draw(random, ARRAY_LEN(of_leased));
    if (luck == 0 && account->ledger != 0)
        return REMOVED;
    if (strcmp(account->state, "creating") == 0 || strcmp(account->state, "retired") == 0)
        return luck < 8 ? CREATED : NOTHING;
    if (reference_open_lease(&run->reference, n) != NULL)
        return of_leased[choice];
    if (strcmp(account->state, "retiring") == 0)
        return luck < 12 ? REMOVED : NOTHING;
    return luck == 1 ? FOREIGN_USE : NOTHING;
}

struct built {
    struct built_transaction transactions[REFERENCE_ACCOUNTS];
    struct built_account accounts[REFERENCE_ACCOUNTS];
    size_t transactions_count, accounts_count;
};

static void build_use(struct run *run, struct built *built, size_t n, enum event event)
{
    const struct reference_account *account = &run->reference.accounts[n];
    const struct reference_lease *lease = reference_open_lease(&run->reference, n);
    built->transactions[built->transactions_count++] =
        (struct built_transaction){.hash = event == FOREIGN_USE ? built_foreign(run->counter++) : lease->hash,
            .code = event == INCLUDED_FAILED ? -1 : 0};
    built->accounts[built->accounts_count++] =
        (struct built_account){.key = run->pool.accounts[n], .sequence = account->sequence + 1};
}

/* Transaction i changes account i, so transactions that change none come last. */
static void build(struct run *run, const enum event events[], struct built *built)
{
    for (size_t n = 0; n < REFERENCE_ACCOUNTS; n++)
        if (events[n] == INCLUDED || events[n] == INCLUDED_FAILED || events[n] == FOREIGN_USE)
            build_use(run, built, n, events[n]);
    for (size_t n = 0; n < REFERENCE_ACCOUNTS; n++) {
        if (events[n] == INCLUDED_FOR_FREE)
            built->transactions[built->transactions_count++] = (struct built_transaction){
                .hash = reference_open_lease(&run->reference, n)->hash, .code = -5};
        if (events[n] == REMOVED || events[n] == CREATED)
            built->accounts[built->accounts_count++] = (struct built_account){.key = run->pool.accounts[n],
                .sequence = (int64_t)(run->reference.tip + 1) << 32,
                .removed = events[n] == REMOVED,
                .created = events[n] == CREATED};
    }
}

static bool ledger(struct run *run, unsigned random)
{
    enum event events[REFERENCE_ACCOUNTS];
    struct built built = {0};
    const uint64_t close_time_s = (uint64_t)time(NULL);
    for (size_t n = 0; n < REFERENCE_ACCOUNTS; n++)
        events[n] = draw_event(run, n, &random);
    build(run, events, &built);
    test_pool_close_ledger(run->pool.db, &(struct built_ledger){.close_time_s = close_time_s,
                                             .transactions = built.transactions,
                                             .transaction_count = built.transactions_count,
                                             .accounts = built.accounts,
                                             .account_count = built.accounts_count});
    reference_ledger(&run->reference, events, close_time_s);
    return true;
}

/* ---- other steps */

static void run_sql(struct run *run, struct db_statement statement)
{
    struct detail detail = {0};
    if (db_query(run->pool.db, statement, NULL, &detail) != ERR_OK)
        fail_msg("%s", detail.text);
}

/* Moves the times of the leases into the past instead of waiting. */
static void pass_time(struct run *run, unsigned seconds)
{
    test_db_execf(&run->pool.test,
        TEST_CHANGE_LEASES("max_time = max_time - %u WHERE hash IN"
                           " (SELECT lease_hash FROM fairway.channel_accounts)"),
        seconds);
    for (size_t i = 0; i < run->reference.lease_count; i++)
        if (strcmp(run->reference.leases[i].result, "open") == 0)
            run->reference.leases[i].max_time_s -= seconds;
}

static void retire(struct run *run, size_t n)
{
    run_sql(run,
        DB_SQL("UPDATE fairway.channel_accounts SET state = 'retiring' WHERE slot = $1 AND state = 'active'",
            DB_I32((int32_t)n)));
    if (strcmp(run->reference.accounts[n].state, "active") == 0)
        run->reference.accounts[n].state = "retiring";
}

static void toggle_gap(struct run *run)
{
    run->reference.suspended = !run->reference.suspended;
    run_sql(run, DB_SQL("UPDATE fairway.cursor SET grants_allowed = NOT $1,"
                        " grants_reason = CASE WHEN $1 THEN 'gap' END",
                     DB_BOOL(run->reference.suspended)));
}

static void toggle_hold(struct run *run)
{
    run->reference.held = !run->reference.held;
    run_sql(run, DB_SQL("UPDATE fairway.cursor SET held_until = CASE WHEN $1 THEN 1 END,"
                        " hold_reason = CASE WHEN $1 THEN 'test' END",
                     DB_BOOL(run->reference.held)));
}

static void lose_session(struct run *run)
{
    static const char sql_others[] =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND"
        " pid <> pg_backend_pid() AND backend_type = 'client backend'";
    while (test_db_number(&run->pool.test, sql_others) > 0)
        ;
    repeat_choices(run);
}

bool step_take(struct run *run, const struct step *step)
{
    if (run->reference.suspended && (step->random & 0x100) != 0)
        toggle_gap(run);
    if (run->reference.held && (step->random & 0x200) != 0)
        toggle_hold(run);
    switch (step->kind) {
    case GRANT:
    case GRANT_BAD:
    case GRANT_CUT:
        return grant(run, step->kind, step->random);
    case LEDGER:
        return ledger(run, step->random);
    case TIME:
        pass_time(run, 1 + step->random % 200);
        return true;
    case RETIRE:
        retire(run, step->random % REFERENCE_ACCOUNTS);
        return true;
    case GAP:
        toggle_gap(run);
        return true;
    case HOLD:
        toggle_hold(run);
        return true;
    case LOSE_SESSION:
        lose_session(run);
        return true;
    case KINDS:
        break;
    }
    return WRONG(run, "no such step");
}
