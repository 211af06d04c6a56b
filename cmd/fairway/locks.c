/* locks: which session blocks which in PostgreSQL, for how long and by which statement. Needs the database
 * alone, and no privilege beyond CONNECT. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/mem.h"
#include "commands.h"
#include "start.h"
#include "pool/lock_numbers.h"
#include "pool/network.h"

/* The locks of the network cannot be named if the database is not migrated, not bound to a network, or not
 * readable for this role. */
static size_t name_locks(struct db *db, struct lock_name names[static LOCK_NAMES_MAX])
{
    struct network network CLEANUP(network_free) = {0};
    struct detail detail;
    if (network_read(db, &network, &detail) != ERR_OK || network.passphrase == NULL)
        return lock_numbers_names(NULL, names);
    const struct network_id id = network_id_of(network.passphrase);
    return lock_numbers_names(&id, names);
}

/* Returns whether any is for longer than a session of fairway waits. */
static bool print(const struct db_rows *lines, const char *title, const char *none)
{
    bool too_long = false;
    if (db_count(lines) == 0)
        fputs(none, stdout);
    for (size_t i = 0; i < db_count_at_most(lines, DB_ANY_COUNT); i++) {
        printf("%s  ", i == 0 ? title : "");
        for (const char *at = db_text(lines, i, 0), *end; *at != '\0'; at = end + (*end != '\0')) {
            end = at + strcspn(at, "\n");
            command_put(at, (size_t)(end - at));
            putchar('\n');
        }
        too_long |= db_bool(lines, i, 1);
    }
    return too_long;
}

static enum err show(struct db *db, int *code, struct detail *detail)
{
    struct lock_name names[LOCK_NAMES_MAX];
    struct locks_report report CLEANUP(locks_report_free) = {0};
    enum err e = locks_read(db, names, name_locks(db, names), &report, detail);
    if (e != ERR_OK)
        return e;
    const bool waits = print(report.waits, "Blocked:\n", "Blocked: no session waits for a lock.\n");
    *code = print(report.holders, "Held:\n", "Held: no lock of fairway.\n") || waits;
    print(report.pins, "Old snapshots, which prevent vacuum from removing dead rows:\n",
        "Snapshots: none is old; vacuum can remove dead rows.\n");
    print(report.hidden, "Hidden:\n", "");
    return ERR_OK;
}

int cmd_locks(const struct config *config)
{
    struct detail detail = {0};
    struct db *db = NULL;
    int code = EX_OK;
    enum err e = confinement_enter(config, -1, LOG_DEBUG, &detail);
    if (e == ERR_OK) /* one attempt: the command shows what blocks now */
        e = database_open(config, &(struct db_settings){.name = "fairway locks"}, clock_ms(), &db, &detail);
    if (e == ERR_OK)
        e = show(db, &code, &detail);
    db_free(db);
    return e == ERR_OK ? code : command_failed(e, &detail, "locks failed");
}
