/* locks: which session blocks which in PostgreSQL, for how long and by which statement. Needs the database
 * alone, and no privilege beyond CONNECT. */
#include <inttypes.h>
#include <stdio.h>
#include <sysexits.h>

#include "base/deadlines.h"
#include "base/clock.h"
#include "base/mem.h"
#include "commands.h"
#include "start.h"
#include "pool/lock_numbers.h"
#include "pool/network.h"

/* Snapshots older than this are printed. No transaction of fairway takes as long. */
#define PIN_OLD_MS 5000

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

static void print_ms(const char *before, int64_t ms, const char *after)
{
    if (ms >= 0)
        printf("%s%" PRId64 ".%" PRId64 " s%s", before, ms / 1000, ms % 1000 / 100, after);
}

static void print_session(const struct db_rows *rows, size_t row, int column)
{
    const char *wait = db_text(rows, row, column + LOCKS_WAIT);
    if (db_i32(rows, row, column + LOCKS_PID) == 0) {
        fputs("a prepared transaction", stdout);
        return;
    }
    printf("%" PRId32 " \"%s\" (%s, %s): %s", db_i32(rows, row, column + LOCKS_PID),
        db_text(rows, row, column + LOCKS_NAME), db_text(rows, row, column + LOCKS_USER),
        db_text(rows, row, column + LOCKS_CLIENT), db_text(rows, row, column + LOCKS_STATE));
    if (wait[0] != '\0')
        printf(", waits for %s", wait);
    print_ms(", in a transaction for ", db_i64(rows, row, column + LOCKS_TRANSACTION_MS), "");
    printf("\n      %s", db_text(rows, row, column + LOCKS_QUERY));
}

/* Returns whether any wait is longer than the lock_timeout of fairway's sessions. */
static bool print_waits(const struct db_rows *waits)
{
    bool too_long = false;
    puts(db_count(waits) == 0 ? "Blocked: no session waits for a lock." : "Blocked:");
    for (size_t i = 0; i < db_count_at_most(waits, LOCKS_MAX); i++) {
        const int64_t waited_ms = db_i64(waits, i, 2 * LOCKS_SESSION);
        print_ms("  for ", waited_ms, ": ");
        printf("%s\n    waiter:  ", db_text(waits, i, 2 * LOCKS_SESSION + 1));
        print_session(waits, i, 0);
        printf("\n    blocker: ");
        print_session(waits, i, LOCKS_SESSION);
        putchar('\n');
        too_long |= waited_ms > DB_LOCK_MS;
    }
    return too_long;
}

/* Returns whether a lock is held for longer than fairway waits for one. */
static bool print_holders(const struct db_rows *holders)
{
    bool too_long = false;
    puts(db_count(holders) == 0 ? "Held: no lock of fairway." : "Held:");
    for (size_t i = 0; i < db_count_at_most(holders, LOCKS_MAX); i++) {
        printf("  %s (%s): ", db_text(holders, i, 0), db_text(holders, i, 1));
        print_session(holders, i, 2);
        putchar('\n');
        too_long |= db_i64(holders, i, 2 + LOCKS_TRANSACTION_MS) > DB_LOCK_MS;
    }
    return too_long;
}

static void print_pins(const struct db_rows *pins)
{
    size_t old = 0;
    for (size_t i = 0; i < db_count_at_most(pins, LOCKS_MAX); i++) {
        const char *name = db_text(pins, i, 1);
        const int64_t age_ms = db_i64(pins, i, 2);
        if (age_ms >= 0 && age_ms < PIN_OLD_MS)
            continue;
        if (old++ == 0)
            puts("Old snapshots, which prevent vacuum from removing dead rows:");
        printf("  %s%s%s", db_text(pins, i, 0), name[0] != '\0' ? " " : "", name);
        print_ms(" for ", age_ms, "");
        printf(", %" PRId64 " transactions begun since", db_i64(pins, i, 3));
        if (db_i32(pins, i, 4 + LOCKS_PID) != 0) {
            fputs(": ", stdout);
            print_session(pins, i, 4);
        }
        putchar('\n');
    }
    if (old == 0)
        puts("Snapshots: none is old; vacuum can remove dead rows.");
}

static enum err show(struct db *db, int *code, struct detail *detail)
{
    struct lock_name names[LOCK_NAMES_MAX];
    struct locks_report report CLEANUP(locks_report_free) = {0};
    enum err e = locks_read(db, names, name_locks(db, names), &report, detail);
    if (e != ERR_OK)
        return e;
    const bool waits = print_waits(report.waits);
    *code = print_holders(report.holders) || waits;
    print_pins(report.pins);
    if (db_i64(report.hidden, 0, 0) > 0)
        printf("Hidden: the statements of %" PRId64
               " sessions of other roles (GRANT pg_read_all_stats to see them).\n",
            db_i64(report.hidden, 0, 0));
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
