/* migrate: brings the database's schema to what this binary needs. */
#include <stdio.h>
#include <sysexits.h>

#include "commands.h"
#include "db/migrate.h"

int cmd_migrate(const struct config *config)
{
    struct detail detail = {0};
    const char *url = config_text(config, "DATABASE_DIRECT_URL");
    size_t applied = 0;
    if (url == NULL)
        url = config_text(config, "DATABASE_URL");
    if (url == NULL) {
        detail_set(&detail, ERR_CONFIG, "DATABASE_URL is not set");
        return command_failed(ERR_CONFIG, &detail, "cannot migrate");
    }
    struct db *db = db_new(&(struct db_settings){
        .url = url, .kind = DB_DIRECT, .name = "fairway migrate", .statement_timeout_ms = 600000});
    enum err e = db_connect_patiently(db, (int)config_number(config, "START_TIMEOUT"), &detail);
    if (e == ERR_OK)
        e = migrate(db, &applied, &detail);
    db_free(db);
    if (e != ERR_OK)
        return command_failed(e, &detail, "cannot migrate");
    printf("%zu migrations applied\n", applied);
    return EX_OK;
}
