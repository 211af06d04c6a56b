/* pause, resume: no lease is granted until an operator says so. Need the database alone. */
#include <stdio.h>

#include "commands.h"
#include "start.h"
#include "pool/grants_allowed.h"

static enum err begin(const struct config *config, struct db *db, struct detail *detail)
{
    bool was;
    enum err e = grants_pause(db, config_text(config, "REASON"), &was, detail);
    if (e == ERR_OK)
        puts("no lease is granted until fairway resume; open leases go on and end");
    return e;
}

static enum err end(const struct config *config, struct db *db, struct detail *detail)
{
    (void)config;
    bool was = false;
    enum err e = grants_pause(db, NULL, &was, detail);
    if (e == ERR_OK)
        puts(was ? "leases are no longer paused" : "leases were not paused");
    return e;
}

int cmd_pause(const struct config *config)
{
    const char *reason = config_text(config, "REASON");
    if (reason == NULL || reason[0] == '\0')
        return command_usage_error("pause", "give --reason, in quotes");
    return database_run(config, "fairway pause", begin, "the pause is not changed");
}

int cmd_resume(const struct config *config)
{
    return database_run(config, "fairway resume", end, "the pause is not changed");
}
