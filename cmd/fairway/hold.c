/* hold: for a database that was brought back by a way that it cannot notice itself. Needs the database alone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>
#include <time.h>

#include "commands.h"
#include "db/migrate.h"
#include "pool/grants_allowed.h"

static enum err begin(
    const struct config *config, const char *url, const char *reason, int64_t *until_s, struct detail *detail)
{
    struct db *db = db_new(&(struct db_settings){.url = url, .kind = DB_DIRECT, .name = "fairway hold"});
    enum err e;
    if ((e = db_connect_patiently(db, (int)config_number(config, "START_TIMEOUT"), detail)) == ERR_OK &&
        (e = migrate_check(db, detail)) == ERR_OK)
        e = grants_hold_begin(db, reason, (unsigned)config_number(config, "LEDGER_SECONDS"), until_s, detail);
    db_free(db);
    return e;
}

int cmd_hold(const struct config *config)
{
    struct detail detail = {0};
    const char *direct = config_text(config, "DATABASE_DIRECT_URL");
    const char *url = direct != NULL ? direct : config_text(config, "DATABASE_URL");
    int64_t until_s;
    char text[32] = "";
    if (config_argument_count(config) > 1) {
        fprintf(stderr, "fairway hold: give the reason as one argument, in quotes\n");
        return EX_USAGE;
    }
    enum err e = url == NULL
                     ? detail_set(&detail, ERR_CONFIG, "DATABASE_URL is not set")
                     : begin(config, url,
                           config_argument_count(config) == 1 ? config_argument(config, 0) : "held by hand",
                           &until_s, &detail);
    if (e != ERR_OK)
        return command_failed(e, &detail, "cannot hold");
    const time_t until = (time_t)until_s;
    struct tm utc;
    if (gmtime_r(&until, &utc) != NULL)
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    printf("no lease is granted until a ledger has closed after %s (%" PRId64 ")\n", text, until_s);
    return EX_OK;
}
