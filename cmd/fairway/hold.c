/* hold: puts grants on hold by hand, for a database that was restored without a trace that fairway detects.
 * Needs the database alone. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "commands.h"
#include "start.h"
#include "pool/grants_allowed.h"
#include "pool/pool_counts.h"

static void print_time(int64_t time_s)
{
    char text[CLOCK_TEXT_SIZE];
    clock_text(time_s, text);
    printf("%s (%" PRId64 ")", text, time_s);
}

static enum err begin(const struct config *config, struct db *db, struct detail *detail)
{
    int64_t until_s;
    enum err e = grants_hold_begin(
        db, config_argument(config, 0), (unsigned)config_ms(config, "LEDGER_SECONDS"), &until_s, detail);
    if (e != ERR_OK)
        return e;
    fputs("no lease is granted until a ledger has closed after ", stdout);
    print_time(until_s);
    putchar('\n');
    return ERR_OK;
}

static enum err show(const struct config *config, struct db *db, struct detail *detail)
{
    (void)config;
    struct pool_counts pool;
    enum err e = pool_counts_read(db, &pool, detail);
    if (e != ERR_OK)
        return e;
    if (pool.grants.held_until_s != 0) {
        printf("grants are on hold: %s\nthey resume with the first ledger that closes after ",
            pool.grants.reason);
        print_time(pool.grants.held_until_s);
        putchar('\n');
    } else if (pool.grants_on_hold)
        puts("grants are on hold: the database was restored, copied or failed over\n"
             "ingestion has not set the end of the hold yet");
    else if (pool.grants.stopped)
        printf("grants are not on hold, but stopped: %s\n", pool.grants.reason);
    else
        puts("grants are not on hold");
    if (pool.grants.paused)
        puts("leases are paused; fairway resume ends the pause");
    return ERR_OK;
}

int cmd_hold(const struct config *config)
{
    const char *reason = config_argument(config, 0);
    const bool shows = config_is_on(config, "SHOW");
    if (shows && reason != NULL)
        return command_usage_error("hold", "--show takes no reason");
    if (!shows && (reason == NULL || reason[0] == '\0'))
        return command_usage_error("hold", "give the reason, in quotes");
    return database_run(config, "fairway hold", shows ? show : begin, "hold failed");
}
