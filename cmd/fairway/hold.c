/* hold: puts grants on hold by hand, for a database that was restored without a trace that fairway detects.
 * Needs the database alone. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "commands.h"
#include "start.h"
#include "pool/grants_allowed.h"

static enum err begin(const struct config *config, struct db *db, struct detail *detail)
{
    int64_t until_s;
    char until[CLOCK_TEXT_SIZE];
    enum err e = grants_hold_begin(
        db, config_argument(config, 0), (unsigned)config_ms(config, "LEDGER_SECONDS"), &until_s, detail);
    if (e != ERR_OK)
        return e;
    clock_text(until_s, until);
    printf("no lease is granted until a ledger has closed after %s (%" PRId64 ")\n", until, until_s);
    return ERR_OK;
}

int cmd_hold(const struct config *config)
{
    const char *reason = config_argument(config, 0);
    if (reason == NULL || reason[0] == '\0')
        return command_usage_error("hold", "give the reason, in quotes");
    return database_run(config, "fairway hold", begin, "hold failed");
}
