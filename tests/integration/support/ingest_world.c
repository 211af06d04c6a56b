#include "ingest_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "slowness.h"

int ingest_world_set_up(void **state)
{
    struct ingest_world *world = NEW(struct ingest_world);
    world->db = test_db_new(TEST_DB_MIGRATED);
    world->feed = ledger_feed_new(FIRST, 20);
    world->source = ledger_feed_source(world->feed);
    *state = world;
    return 0;
}

int ingest_world_tear_down(void **state)
{
    struct ingest_world *world = *state;
    ingest_stop(world->ingest);
    ledger_feed_free(world->feed);
    test_db_drop(&world->db);
    free(world);
    return 0;
}

struct ingest_settings ingest_world_settings(const struct ingest_world *world)
{
    return (struct ingest_settings){.database_url = world->db.serve_url,
        .feed = &world->source,
        .network = network_id_of(BUILT_PASSPHRASE),
        .poll_ms = POLL_MS,
        .ledger_ms = 5000,
        .stale_ms = STALE_MS,
        .retention_s = 3600};
}

struct ingest *ingest_world_start_with(const struct ingest_settings *settings)
{
    struct ingest *ingest;
    assert_int_equal(ingest_start(settings, &ingest, NULL), ERR_OK);
    return ingest;
}

struct ingest *ingest_world_start(struct ingest_world *world)
{
    const struct ingest_settings settings = ingest_world_settings(world);
    return ingest_world_start_with(&settings);
}

void close_ledgers(struct ingest_world *world, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        ledger_feed_close(world->feed, &(struct built_ledger){0});
}

static const char sql_cursor[] = "SELECT coalesce(max(sequence), 0) FROM fairway.cursor";

int64_t cursor_of(const struct ingest_world *world)
{
    return test_db_number(&world->db, sql_cursor);
}

void await_cursor(const struct ingest_world *world, uint32_t sequence)
{
    await_number(world, sql_cursor, sequence);
}

void await_number(const struct ingest_world *world, const char *sql, int64_t number)
{
    int64_t last;
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); (last = test_db_number(&world->db, sql)) != number;
         clock_sleep_ms(10))
        if (clock_left_ms(end) == 0)
            fail_msg("%s: %lld, not %lld", sql, (long long)last, (long long)number);
}

void await_not_ready(struct ingest *ingest, const char *word)
{
    struct detail why = {"ready"};
    for (int64_t end = clock_ms() + slower(PATIENCE_MS);
         ingest_ready(ingest, &why) || strstr(why.text, word) == NULL; clock_sleep_ms(5))
        if (clock_left_ms(end) == 0)
            fail_msg("\"%s\" does not contain \"%s\"", why.text, word);
}

void await_ready(struct ingest *ingest)
{
    struct detail why;
    for (int64_t end = clock_ms() + slower(PATIENCE_MS); !ingest_ready(ingest, &why); clock_sleep_ms(5))
        if (clock_left_ms(end) == 0)
            fail_msg("not ready: %s", why.text);
}
