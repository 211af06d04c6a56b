/* Housekeeping runs in the leader alone, and ingestion neither waits for it nor fails with it. */
#include "support/ingest_world.h"

#include "base/clock.h"
#include "slowness.h"
#include "support/pool_rows.h"

/* Leases 1 to 3, settled ten days ago. */
static void seed_old_leases(struct ingest_world *world)
{
    ledger_row(&world->db, 1);
    for (unsigned n = 1; n <= 3; n++) {
        account_row(&world->db, n, "active");
        lease_row(&world->db, n, "", 0);
        lease_row_end(&world->db, n, "expired", NULL);
    }
    test_db_exec(&world->db,
        "SELECT fairway.add_partitions(current_date - 10, current_date - 10);" TEST_CHANGE_LEASES(
            "granted_at = granted_at - interval '10 days'")
            TEST_UNCHECKED("UPDATE fairway.lease_results SET granted_at = granted_at - interval '10 days'"));
    test_db_exec(&world->db,
        "SET session_replication_role = replica; DELETE FROM fairway.cursor; DELETE FROM fairway.ledgers");
}

#define JANITORS                                                                                             \
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fairway janitor' AND datname ="         \
    " current_database()"

TEST(only_the_leader_has_a_janitor)
{
    struct ingest_world *world = *state;
    seed_old_leases(world);
    world->ingest = ingest_world_start(world);
    await_number(world, "SELECT count(*) FROM fairway.leases", 0);
    struct ingest *second = ingest_world_start(world);
    await_ready(second);
    clock_sleep_ms(2500); /* each replica checks every second whether it leads */
    assert_int_equal(test_db_number(&world->db, JANITORS), 1);
    ingest_stop(world->ingest);
    world->ingest = second;
    close_ledgers(world, 1);
    await_cursor(world, FIRST + 1);
    await_number(world, JANITORS, 1);
}

#define INGESTION_WAITS                                                                                      \
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fairway ingest' AND datname ="          \
    " current_database() AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')"

/* Closes ledgers for some seconds. Each must be committed soon, under the same leader, and ingestion must not
 * wait for what housekeeping waits for. */
static void assert_ingestion_keeps_its_pace(struct ingest_world *world)
{
    uint32_t sequence = ledger_feed_latest(world->feed);
    for (int64_t end = clock_ms() + 4000; clock_left_ms(end) > 0;) {
        const int64_t closed_ms = clock_ms();
        close_ledgers(world, 1);
        await_cursor(world, ++sequence);
        const int64_t late_ms = clock_ms() - closed_ms;
        if (late_ms > slower(4000))
            fail_msg("ledger %u was committed %lld ms after it closed", sequence, (long long)late_ms);
        await_ready(world->ingest);
        clock_sleep_ms(50);
        assert_int_equal(test_db_number(&world->db, INGESTION_WAITS), 0);
    }
    assert_int_equal(test_db_number(&world->db, "SELECT term FROM fairway.cursor"), 0);
}

/* The fault increments public.met. */
static void run_with_fault(struct ingest_world *world, const char *install, const char *remove)
{
    seed_old_leases(world);
    test_db_exec(&world->db, install);
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    await_number(world, "SELECT count(*) FROM public.met WHERE is_called", 1);
    assert_ingestion_keeps_its_pace(world);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.leases"), 3);
    test_db_exec(&world->db, remove);
    await_number(world, "SELECT count(*) FROM fairway.leases", 0);
}

/* At each DROP TABLE. */
#define FAULTY(body)                                                                                         \
    "CREATE SEQUENCE public.met; CREATE FUNCTION public.fault() RETURNS event_trigger LANGUAGE plpgsql AS"   \
    " $$ BEGIN PERFORM nextval('public.met'); " body " END $$;"                                              \
    "CREATE EVENT TRIGGER fault ON sql_drop EXECUTE FUNCTION public.fault()"
#define NO_FAULT "DROP EVENT TRIGGER fault"

TEST(a_janitor_whose_statements_fail_neither_ends_the_lead_nor_delays_ledgers)
{
    run_with_fault(*state, FAULTY("RAISE EXCEPTION 'injected';"), NO_FAULT);
}

TEST(a_janitor_that_runs_into_its_statement_timeout_neither_ends_the_lead_nor_delays_ledgers)
{
    run_with_fault(*state, FAULTY("PERFORM pg_sleep(60);"), NO_FAULT);
}

TEST(a_janitor_whose_tables_are_locked_neither_ends_the_lead_nor_delays_ledgers)
{
    struct ingest_world *world = *state;
    AUTO_DB holder = test_db_open(&world->db);
    seed_old_leases(world);
    test_db_exec(&world->db,
        "INSERT INTO fairway.lease_claims SELECT 0, now(), 'c', int4send(n), '', sha256(''), ''"
        " FROM generate_series(1, 1000) n");
    assert_int_equal(
        db_query(holder, DB_SQL0("SELECT set_config('idle_in_transaction_session_timeout', '0', false)"),
            NULL, NULL),
        ERR_OK);
    assert_int_equal(db_begin(holder, NULL), ERR_OK);
    assert_int_equal(
        db_query(holder, DB_SQL0("SELECT 1 FROM fairway.leases FOR UPDATE"), NULL, NULL), ERR_OK);
    world->ingest = ingest_world_start(world);
    await_cursor(world, FIRST);
    await_number(world, JANITORS " AND wait_event_type = 'Lock'", 1);
    assert_ingestion_keeps_its_pace(world);
    assert_int_equal(test_db_number(&world->db, "SELECT count(*) FROM fairway.leases"), 3);
    await_number(world, "SELECT count(*) FROM fairway.lease_claims", 0);
    db_rollback(holder);
    await_number(world, "SELECT count(*) FROM fairway.leases", 0);
}

/* Each table takes 50 ms, so those of all days take longer than the janitor's statement_timeout. */
TEST(the_partitions_of_all_days_are_made_after_a_pause_of_weeks)
{
    struct ingest_world *world = *state;
    test_db_exec(&world->db,
        "DO $$ DECLARE part text; BEGIN FOR part IN SELECT p.name FROM fairway.partitions p LOOP"
        " EXECUTE format('DROP TABLE fairway.%I', part); END LOOP; END $$;"
        "SELECT fairway.add_partitions(current_date - 20, current_date - 20);"
        "CREATE FUNCTION public.slow() RETURNS event_trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(0.05); END $$;"
        "CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION "
        "public.slow()");
    world->ingest = ingest_world_start(world);
    await_number(world,
        "SELECT count(*) FROM fairway.partitions WHERE parent = 'leases' AND day BETWEEN current_date AND "
        "current_date + 7",
        8);
}

/* As in a shortage: each batch of leases reports, so some reports have become old whenever one looks. */
TEST(DX10_reports_that_age_all_the_time_do_not_keep_housekeeping_busy)
{
    struct ingest_world *world = *state;
    seed_old_leases(world);
    test_db_exec(&world->db,
        "CREATE SEQUENCE public.steps; CREATE FUNCTION public.age() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM nextval('public.steps'); INSERT INTO fairway.waiting (replica, waiting, taken, "
        "seen_at)"
        " VALUES (1, 1, 1, now() - interval '1 h'); RETURN NULL; END $$;"
        "CREATE TRIGGER age AFTER DELETE ON fairway.waiting EXECUTE FUNCTION public.age();"
        "INSERT INTO fairway.waiting (replica, waiting, taken, seen_at) VALUES (1, 1, 1, now() - interval '1 "
        "h')");
    world->ingest = ingest_world_start(world);
    await_number(world, "SELECT count(*) FROM fairway.leases", 0);
    clock_sleep_ms(2000);
    assert_in_range(test_db_number(&world->db, "SELECT last_value FROM public.steps"), 1, 10);
}

TEST_FIXTURE(ingest_world_set_up, ingest_world_tear_down)
GROUP_FIXTURE(test_pg_start, test_pg_stop)
