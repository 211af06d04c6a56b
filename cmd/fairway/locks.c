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

static void print_session(const struct lock_session *session)
{
    if (session->pid == 0) {
        fputs("a prepared transaction", stdout);
        return;
    }
    printf("%" PRId32 " \"%s\" (%s, %s): %s", session->pid, session->name, session->user, session->client,
        session->state);
    if (session->wait[0] != '\0')
        printf(", waits for %s", session->wait);
    print_ms(", in a transaction for ", session->transaction_ms, "");
    printf("\n      %s", session->query);
}

/* Returns whether any wait is longer than the lock_timeout of fairway's sessions. */
static bool print_waits(const struct locks_report *report)
{
    bool too_long = false;
    if (report->wait_count == 0)
        puts("Blocked: no session waits for a lock.");
    else
        puts("Blocked:");
    for (size_t i = 0; i < report->wait_count; i++) {
        const struct lock_wait *wait = &report->waits[i];
        print_ms("  for ", wait->waited_ms, ": ");
        printf("%s\n    waiter:  ", wait->lock);
        print_session(&wait->waiter);
        printf("\n    blocker: ");
        print_session(&wait->blocker);
        putchar('\n');
        too_long |= wait->waited_ms > DB_LOCK_MS;
    }
    return too_long;
}

static void print_holders(const struct locks_report *report)
{
    if (report->holder_count == 0)
        puts("Advisory locks of fairway: none is held.");
    else
        puts("Advisory locks of fairway:");
    for (size_t i = 0; i < report->holder_count; i++) {
        const struct lock_holder *holder = &report->holders[i];
        printf("  %s (%s): ", holder->lock, holder->mode);
        print_session(&holder->session);
        putchar('\n');
    }
}

static void print_pins(const struct locks_report *report)
{
    size_t old = 0;
    for (size_t i = 0; i < report->pin_count; i++) {
        const struct lock_pin *pin = &report->pins[i];
        if (pin->age_ms >= 0 && pin->age_ms < PIN_OLD_MS)
            continue;
        if (old++ == 0)
            puts("Old snapshots, which prevent vacuum from removing dead rows:");
        printf("  %s%s%s", pin->what, pin->name[0] != '\0' ? " " : "", pin->name);
        print_ms(" for ", pin->age_ms, "");
        printf(", %" PRId64 " transactions begun since", pin->age_transactions);
        if (pin->session.pid != 0) {
            fputs(": ", stdout);
            print_session(&pin->session);
        }
        putchar('\n');
    }
    if (old == 0)
        puts("Snapshots: none is old; vacuum can remove dead rows.");
}

static enum err show(struct db *db, int *code, struct detail *detail)
{
    struct lock_name names[LOCK_NAMES_MAX];
    struct locks_report *report AUTO_FREE = NEW(struct locks_report);
    size_t named = name_locks(db, names);
    enum err e = locks_read(db, names, named, report, detail);
    if (e != ERR_OK)
        return e;
    *code = print_waits(report) ? 1 : EX_OK;
    print_holders(report);
    print_pins(report);
    if (report->hidden > 0)
        printf("Hidden: the statements of %" PRId64
               " sessions of other roles (GRANT pg_read_all_stats to see them).\n",
            report->hidden);
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
