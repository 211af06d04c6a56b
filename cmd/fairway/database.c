/* Opens the database session of a command, and checks what it leads to. Reads no table of the pool. */
#include "start.h"

#include <sysexits.h>

#include "base/clock.h"
#include "commands.h"
#include "db/migrate.h"
#include "db/server.h"

struct attempt {
    struct db *db;
    const char *url;
};

static enum err try_connect(void *context, struct detail *detail)
{
    const struct attempt *attempt = context;
    struct detail refusal;
    enum err e = db_connect(attempt->db, detail);
    if (e != ERR_DATABASE_UNAVAILABLE || server_check_login(attempt->url, &refusal) != ERR_CONFIG)
        return e;
    return detail_set(detail, ERR_CONFIG, "DATABASE_URL: %s", refusal.text);
}

enum err database_open(const struct config *config, const struct db_settings *settings, int64_t deadline_ms,
    struct db **out, struct detail *detail)
{
    struct db_settings own = *settings;
    own.url = config_text(config, "DATABASE_URL");
    *out = NULL;
    if (own.url == NULL)
        return detail_set(detail, ERR_CONFIG, "DATABASE_URL is not set");
    *out = db_new(&own);
    return retry_until(try_connect, &(struct attempt){*out, own.url}, deadline_ms, detail);
}

static enum err check_schema(void *db, struct detail *detail)
{
    return migrate_check(db, &embedded_schema, detail);
}

enum err database_open_pool(const struct config *config, const char *name, int64_t deadline_ms,
    struct db **out, struct detail *detail)
{
    enum err e = database_open(config, &(struct db_settings){.name = name}, deadline_ms, out, detail);
    return e == ERR_OK ? retry_until(check_schema, *out, deadline_ms, detail) : e;
}

int database_run(const struct config *config, const char *name, database_fn run, const char *failed)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000;
    struct detail detail = {0};
    struct db *db = NULL;
    enum err e = confinement_enter(config, -1, LOG_DEBUG, &detail);
    if (e == ERR_OK)
        e = database_open_pool(config, name, deadline_ms, &db, &detail);
    if (e == ERR_OK)
        e = run(config, db, &detail);
    db_free(db);
    return e == ERR_OK ? EX_OK : command_failed(e, &detail, failed);
}
