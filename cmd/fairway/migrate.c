/* migrate: creates the schema, or updates it to the version that this program needs. */
#include <stdio.h>
#include <sysexits.h>

#include "base/deadlines.h"
#include "base/clock.h"
#include "commands.h"
#include "db/migrate.h"
#include "start.h"

int cmd_migrate(const struct config *config)
{
    struct detail detail = {0};
    struct db *db = NULL;
    size_t applied = 0;
    enum err e = confinement_enter(config, -1, LOG_DEBUG, &detail);
    if (e == ERR_OK)
        e = database_open(config,
            &(struct db_settings){.name = "fairway migrate", .statement_timeout_ms = MIGRATE_FILE_MS},
            clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000, &db, &detail);
    if (e == ERR_OK)
        e = migrate(db, &embedded_schema, &applied, &detail);
    db_free(db);
    if (e != ERR_OK)
        return command_failed(e, &detail, "migrate failed");
    printf("schema %s: %zu files applied\n", applied > 0 ? "updated" : "is up to date", applied);
    return EX_OK;
}
