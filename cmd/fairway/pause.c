/* pause, resume: no lease is granted until an operator says so. Need the database alone. */
#include <stdio.h>
#include <sysexits.h>

#include "commands.h"
#include "start.h"
#include "pool/grants_allowed.h"

/* reason NULL: resumes. */
static int set(const struct config *config, const char *name, const char *reason)
{
    struct detail detail = {0};
    struct db *db;
    bool was = false;
    enum err e = database_open_migrated(config, name, &db, &detail);
    if (e == ERR_OK)
        e = grants_pause(db, reason, &was, &detail);
    db_free(db);
    if (e != ERR_OK)
        return command_failed(e, &detail, "the pause is not changed");
    if (reason != NULL)
        puts("no lease is granted until fairway resume; open leases go on and end");
    else
        puts(was ? "leases are no longer paused" : "leases were not paused");
    return EX_OK;
}

int cmd_pause(const struct config *config)
{
    const char *reason = config_text(config, "REASON");
    if (reason == NULL || reason[0] == '\0')
        return command_usage_error("pause", "give --reason, in quotes");
    return set(config, "fairway pause", reason);
}

int cmd_resume(const struct config *config)
{
    return set(config, "fairway resume", NULL);
}
