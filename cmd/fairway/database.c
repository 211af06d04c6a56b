#include "database.h"

#include "base/clock.h"
#include "db/login.h"
#include "db/migrate.h"
#include "db/server.h"
#include "retry.h"
#include "confinement.h"

const char *database_direct_url(const struct config *config)
{
    const char *direct = config_text(config, "DATABASE_DIRECT_URL");
    return direct != NULL ? direct : config_text(config, "DATABASE_URL");
}

struct attempt {
    struct db *db;
    const char *url;
    const char *option; /* that the URL is from */
};

/* Prepared statements and session locks do not survive in a transaction pooler. */
static enum err refuse_pooler(const struct attempt *attempt, struct detail *detail)
{
    bool pooled = false;
    enum err e = server_behind_pooler(attempt->url, "fairway start", &pooled, detail);
    if (e != ERR_OK || !pooled)
        return e;
    return detail_set(detail, ERR_CONFIG,
        "%s leads through a transaction pooler (PgBouncer?): set DATABASE_DIRECT_URL to the address of"
        " PostgreSQL itself",
        attempt->option);
}

enum err database_refused(enum err e, const char *url, const char *option, struct detail *detail)
{
    struct detail refusal;
    if (e != ERR_DATABASE_UNAVAILABLE || login_check(url, &refusal) != ERR_CONFIG)
        return e;
    return detail_set(detail, ERR_CONFIG, "%s: %s", option, refusal.text);
}

/* The pooler is recognized first: a direct session prepares statements, which fails behind it. */
static enum err try_connect(void *context, struct detail *detail)
{
    const struct attempt *attempt = context;
    enum err e = refuse_pooler(attempt, detail);
    if (e == ERR_OK)
        e = db_connect(attempt->db, detail);
    return database_refused(e, attempt->url, attempt->option, detail);
}

enum err database_open(const struct config *config, const struct db_settings *settings, int64_t deadline_ms,
    struct db **out, struct detail *detail)
{
    struct db_settings direct = *settings;
    direct.url = database_direct_url(config);
    direct.kind = DB_DIRECT;
    *out = NULL;
    if (direct.url == NULL)
        return detail_set(detail, ERR_CONFIG, "DATABASE_URL is not set");
    *out = db_new(&direct);
    struct attempt attempt = {.db = *out,
        .url = direct.url,
        .option =
            config_text(config, "DATABASE_DIRECT_URL") != NULL ? "DATABASE_DIRECT_URL" : "DATABASE_URL"};
    return retry_until(try_connect, &attempt, deadline_ms, detail);
}

enum err database_open_migrated(
    const struct config *config, const char *name, struct db **out, struct detail *detail)
{
    const int64_t deadline_ms = clock_ms() + (int64_t)config_number(config, "START_TIMEOUT") * 1000;
    *out = NULL;
    enum err e = confinement_enter(config, -1, LOG_DEBUG, detail);
    if (e == ERR_OK)
        e = database_open(config, &(struct db_settings){.name = name}, deadline_ms, out, detail);
    return e == ERR_OK ? migrate_check(*out, detail) : e;
}
